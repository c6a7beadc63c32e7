//! The states of a delivery under the names that statements use, and the text of statements that contain
//! them.
//!
//! The numbers are in the text of a statement rather than bound to it, because a database uses a partial
//! index only if it can see that the statement selects its rows.

use std::{fmt, ops::Deref, sync::LazyLock};

use gancho_domain::State;

pub use crate::sql;

pub const PENDING: i16 = State::Pending.number();
pub const LEASED: i16 = State::Leased.number();
pub const WAITING: i16 = State::Waiting.number();
pub const DELIVERED: i16 = State::Delivered.number();
pub const DEAD: i16 = State::Dead.number();
/// The lowest final state: a delivery below it has not ended.
pub const ENDED: i16 = DELIVERED;

/// The text of a statement, built on its first use.
pub struct Sql(LazyLock<String>);

impl Sql {
    pub const fn new(make: fn() -> String) -> Self {
        Self(LazyLock::new(make))
    }
}

impl Deref for Sql {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// Builds the text of a statement once from the constants that it names: `sql!("… state = {PENDING}")`.
#[macro_export]
macro_rules! sql {
    ($text:literal) => {{
        static TEXT: $crate::states::Sql = $crate::states::Sql::new(|| format!($text));
        &*TEXT
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_is_at_or_above_the_first_final_state() {
        for state in State::ALL {
            assert_eq!(state.number() >= ENDED, state.is_final(), "{state:?}");
        }
    }

    #[test]
    fn a_statement_has_the_numbers_of_its_states() {
        static STATEMENT: Sql = Sql::new(|| format!("state in ({PENDING}, {WAITING})"));
        assert_eq!(STATEMENT.to_string(), "state in (2, 4)");
        assert_eq!(sql!("state + 0 = {LEASED}"), "state + 0 = 3");
    }
}
