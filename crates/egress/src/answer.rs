//! Reads responses, with bounds on everything.

use std::{error::Error, time::Duration};

use bytes::{Bytes, BytesMut};
use gancho_domain::Code;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::outcome::RequestError;

/// Maximum number of bytes of a response body that are stored.
pub(crate) const MAX_STORED_RESPONSE: usize = 16 * 1024;
/// Maximum number of bytes that are read, so that the connection can be reused if the body ends.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
const MAX_HEADERS_LENGTH: usize = 8 * 1024;

/// The part of a body that was read.
pub(crate) struct BodyRead {
    /// Its first bytes.
    pub(crate) start: Bytes,
    /// The end was reached.
    pub(crate) ended: bool,
    /// Whether `start` is the whole body.
    pub(crate) is_whole: bool,
}

/// Reads the body and stores at most `max` bytes of it. It is never decompressed.
pub(crate) async fn read_body(mut body: Incoming, max: usize, until: Instant) -> BodyRead {
    let mut start = BytesMut::new();
    let mut seen = 0;
    let done = |start: BytesMut, seen: usize, ended: bool| BodyRead {
        is_whole: ended && seen == start.len(),
        start: start.freeze(),
        ended,
    };
    if body.is_end_stream() {
        return done(start, seen, true);
    }
    loop {
        match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                let Some(data) = frame.data_ref() else { continue };
                seen += data.len();
                // Copied, so that a short body does not hold on to a whole buffer.
                start.extend_from_slice(&data[..data.len().min(max - start.len())]);
                if seen > MAX_RESPONSE_BYTES.max(max) {
                    return done(start, seen, false);
                }
            }
            Ok(None) => return done(start, seen, true),
            Ok(Some(Err(_))) | Err(_) => return done(start, seen, false),
        }
    }
}

/// Returns `name: value` lines; bytes that are not UTF-8 are replaced.
pub(crate) fn header_lines(headers: &HeaderMap) -> Bytes {
    let length = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 3).sum();
    let mut lines = BytesMut::with_capacity(MAX_HEADERS_LENGTH.min(length));
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let room = MAX_HEADERS_LENGTH - lines.len();
        let line = [name.as_str(), ": ", &*value, "\n"];
        if line.iter().map(|part| part.len()).sum::<usize>() > room {
            // A line that does not fit is omitted, because half a value could be taken for a whole one.
            continue;
        }
        for part in line {
            lines.extend_from_slice(part.as_bytes());
        }
    }
    lines.freeze()
}

/// Returns the peer's keep-alive timeout, minus a margin for latency.
pub(crate) fn keep_for(headers: &HeaderMap) -> Option<Duration> {
    const MARGIN: Duration = Duration::from_millis(500);
    let value = headers.get(&KEEP_ALIVE)?.to_str().ok()?;
    let parameter = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    let secs = parameter.parse::<u32>().ok()?;
    Some(Duration::from_secs(secs.into()).saturating_sub(MARGIN))
}

const KEEP_ALIVE: header::HeaderName = header::HeaderName::from_static("keep-alive");

/// No valid response arrived.
pub(crate) fn broken(error: &hyper::Error) -> RequestError {
    let what = if error.is_parse_too_large() {
        "the response headers are too long"
    } else if error.is_parse() {
        "the response is not HTTP"
    } else {
        "the connection was closed before a response arrived"
    };
    RequestError::new(Code::PROTOCOL_ERROR, format!("{what}: {}", chain(error)))
}

/// Whether the peer states that it did not process the request, so that it may be sent again immediately.
/// Only HTTP/2 can state this, by REFUSED_STREAM or a graceful GOAWAY. hyper does not expose these reasons,
/// so they are detected by their texts; one that is missed counts as an attempt.
pub(crate) fn was_refused_unread(error: &hyper::Error) -> bool {
    let text = chain(error);
    text.contains("refused stream before processing") || text.contains("not a result of an error")
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
