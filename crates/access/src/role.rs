//! The roles of users. Each includes the ones before it.

use std::{fmt, str::FromStr};

/// What a user may do. The operator token has [`Role::Operator`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads everything but secrets.
    ReadOnly,
    /// Also retries, replays, tests, pauses and resumes.
    Support,
    /// Everything.
    Operator,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Support, Self::Operator];
    pub const NAMES: &'static [&'static str] = &["read_only", "support", "operator"];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether it may retry, replay, test, pause and resume.
    pub const fn may_support(self) -> bool {
        !matches!(self, Self::ReadOnly)
    }

    /// Whether it may change the configuration and see secrets.
    pub const fn may_operate(self) -> bool {
        matches!(self, Self::Operator)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| "unknown role; use `operator`, `support` or `read_only`".to_owned())
    }
}
