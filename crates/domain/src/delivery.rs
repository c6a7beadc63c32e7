//! The state of a delivery: as stored, and as shown to a tenant.

use std::{fmt, str::FromStr};

/// The stored state. The numbers are on disk: never reused, never changed. None is 0 or 1, so that a row
/// keeps its size when the state changes (SQLite stores those two in no bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Waits to be claimed when due.
    Pending,
    /// Held by a node.
    Leased,
    /// Waits for an earlier delivery of the same subject.
    Waiting,
    Delivered,
    /// Failed permanently; a dead letter has the reason.
    Dead,
}

impl State {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Leased, Self::Waiting, Self::Delivered, Self::Dead];

    pub const fn number(self) -> i16 {
        match self {
            Self::Pending => 2,
            Self::Leased => 3,
            Self::Waiting => 4,
            Self::Delivered => 5,
            Self::Dead => 6,
        }
    }

    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.number() == number)
    }

    pub const fn is_final(self) -> bool {
        matches!(self, Self::Delivered | Self::Dead)
    }
}

/// The status shown to a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Pending,
    Retrying,
    Delivered,
    Failed,
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Retrying, Self::Delivered, Self::Failed];

    pub const fn of(state: State, attempts: u32) -> Self {
        match state {
            State::Delivered => Self::Delivered,
            State::Dead => Self::Failed,
            State::Pending | State::Leased | State::Waiting if attempts == 0 => Self::Pending,
            State::Pending | State::Leased | State::Waiting => Self::Retrying,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Retrying => "retrying",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|status| status.name() == name).ok_or_else(|| {
            format!("unknown status `{name}`: use pending, retrying, delivered or failed")
        })
    }
}
