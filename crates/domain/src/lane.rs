//! A lane is one kind of work for the engine. Each adds only its carrier.

use std::{fmt, str::FromStr};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// An event to an endpoint.
    Webhook,
    /// A receipt to the core.
    Dispatch,
    /// An e-mail to SMTP or SES.
    Email,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Webhook, Self::Dispatch, Self::Email];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Dispatch => "dispatch",
            Self::Email => "email",
        }
    }

    /// The number of the lane in the stores. Never reused, never changed.
    pub const fn number(self) -> i16 {
        match self {
            Self::Webhook => 2,
            Self::Dispatch => 3,
            Self::Email => 4,
        }
    }

    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.number() == number)
    }

    /// Returns the index in an array with one entry per lane.
    pub const fn index(self) -> usize {
        self.number() as usize - 2
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Lane {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|lane| lane.name() == name)
            .ok_or_else(|| format!("unknown lane `{name}`: use webhook, dispatch or email"))
    }
}
