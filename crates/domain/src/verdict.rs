//! The outcome of an attempt. A refused request is a value, not an error.

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
    /// Nothing was sent, because this node lacks a resource, such as a file handle. This is not an attempt,
    /// and is repeated soon.
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
