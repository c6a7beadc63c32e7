//! The outcome of an attempt. A refused request is a value, not an error.

use crate::{Failure, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// A later attempt may succeed. It starts no earlier than `not_before`, if the target named a time.
    Retry {
        failure: Failure,
        not_before: Option<Time>,
    },
    /// No later attempt can succeed.
    Never {
        failure: Failure,
    },
    /// Nothing was sent, because this node lacks a resource, such as a file handle. This is not an attempt;
    /// the delivery is tried again soon.
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
