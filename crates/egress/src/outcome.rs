//! The outcome of a request. It is always a value.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Code, Failure};

use crate::{address::BLOCKED, retry_after::RetryAfter};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub answer: Result<Answer, RequestError>,
    pub latency: Duration,
}

/// The response. It is complete once its headers have arrived; a truncated or endless body changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// `name: value` lines, at most 8 KiB.
    pub headers: Bytes,
    /// The first bytes, as received: up to 16 KiB.
    pub body: Bytes,
    /// Whether `body` is complete.
    pub is_whole: bool,
    pub retry_after: Option<RetryAfter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub failure: Failure,
    /// Whether the URL itself is at fault. Not retried.
    pub for_good: bool,
    /// Whether this node lacks a resource, and nothing was sent.
    pub is_ours: bool,
}

impl RequestError {
    pub(crate) fn new(code: Code, reason: impl AsRef<str>) -> Self {
        Self { failure: Failure::new(code, reason), for_good: false, is_ours: false }
    }

    /// This node lacks file handles, ports or memory.
    pub(crate) fn internal_failure(reason: impl AsRef<str>) -> Self {
        Self { is_ours: true, ..Self::new(Code::CONNECT_FAILED, reason) }
    }

    /// The URL is not allowed, whatever DNS returns.
    pub(crate) fn refused(reason: impl AsRef<str>) -> Self {
        Self { for_good: true, ..Self::new(Code::ADDRESS_BLOCKED, reason) }
    }

    /// DNS returned a denied address. This may be corrected, so it is retried.
    pub(crate) fn blocked() -> Self {
        Self::new(Code::ADDRESS_BLOCKED, BLOCKED)
    }
}
