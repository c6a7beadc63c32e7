//! How one POST ended. It always ends with a value.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Code, Failure};

use crate::{address::BLOCKED, retry_after::RetryAfter};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub answer: Result<Answer, RequestError>,
    pub latency: Duration,
}

/// What the endpoint said. It counts from the moment its headers are there; a body that breaks off
/// or does not end changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// `name: value` lines, at most 8 KiB.
    pub headers: Bytes,
    /// Its first bytes, as received: 16 KiB of what an endpoint says.
    pub body: Bytes,
    /// `body` is all of it.
    pub is_whole: bool,
    pub retry_after: Option<RetryAfter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub failure: Failure,
    /// The URL itself is at fault: no later attempt can do better.
    pub for_good: bool,
    /// This node lacks something, and the target was not asked.
    pub is_ours: bool,
}

impl RequestError {
    pub(crate) fn new(code: Code, reason: impl AsRef<str>) -> Self {
        Self { failure: Failure::new(code, reason), for_good: false, is_ours: false }
    }

    /// This node lacks file handles, ports or memory.
    pub(crate) fn ours(reason: impl AsRef<str>) -> Self {
        Self { is_ours: true, ..Self::new(Code::CONNECT_FAILED, reason) }
    }

    /// The URL may not be delivered to, whatever the DNS says.
    pub(crate) fn refused(reason: impl AsRef<str>) -> Self {
        Self { for_good: true, ..Self::new(Code::ADDRESS_BLOCKED, reason) }
    }

    /// The DNS gave an address that may not be reached. The DNS may be mended.
    pub(crate) fn blocked() -> Self {
        Self::new(Code::ADDRESS_BLOCKED, BLOCKED)
    }
}
