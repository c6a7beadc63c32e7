//! One try, with its request, response, latency and error. Written once, never changed.

use std::time::Duration;

use bytes::Bytes;

use crate::{Failure, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the attempt, counted from 1.
    pub number: u32,
    pub started_at: Time,
    pub latency: Duration,
    /// The request headers as sent, with secrets masked: `name: value` lines.
    pub request_headers: Bytes,
    pub response_status: Option<u16>,
    pub response_headers: Bytes,
    /// The response body as received, at most its first 16 KiB.
    pub response_body: Bytes,
    pub failure: Option<Failure>,
    /// When the next attempt is planned, before jitter. Shown to the tenant.
    pub next_at: Option<Time>,
}
