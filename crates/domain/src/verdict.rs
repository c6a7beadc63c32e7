//! How one attempt ended. A refused call is a value, not an error.

use crate::{Failure, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// It may work later; not before `not_before` if the target said so.
    Retry {
        failure: Failure,
        not_before: Option<Time>,
    },
    /// It will never work.
    Never {
        failure: Failure,
    },
    /// Nothing was sent, because this node lacks what sending takes, such as a file handle. The target
    /// was not asked: this counts as no attempt, and is tried again soon.
    Deferred {
        failure: Failure,
    },
}

impl Verdict {
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Delivered => None,
            Self::Retry { failure, .. } | Self::Never { failure } | Self::Deferred { failure } => {
                Some(failure)
            }
        }
    }
}
