//! Reads what comes back, with bounds on everything.

use std::{error::Error, time::Duration};

use bytes::{Bytes, BytesMut};
use gancho_domain::Code;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::outcome::RequestError;

/// So much of an endpoint's body is kept.
pub(crate) const KEPT: usize = 16 * 1024;
/// So much of a body is read, in the hope that it ends and the connection can be used again.
const READ: usize = 64 * 1024;
const LONGEST_HEADERS: usize = 8 * 1024;

/// What was read of a body.
pub(crate) struct BodyRead {
    /// Its first bytes.
    pub(crate) kept: Bytes,
    /// It came to its end.
    pub(crate) ended: bool,
    /// `kept` is all of it.
    pub(crate) is_whole: bool,
}

/// Keeps at most this many bytes of the body, which is never decompressed.
pub(crate) async fn read_body(mut body: Incoming, most: usize, until: Instant) -> BodyRead {
    let mut kept = BytesMut::new();
    let mut seen = 0;
    let done = |kept: BytesMut, seen: usize, ended: bool| BodyRead {
        is_whole: ended && seen == kept.len(),
        kept: kept.freeze(),
        ended,
    };
    if body.is_end_stream() {
        return done(kept, seen, true);
    }
    loop {
        match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                let Some(data) = frame.data_ref() else { continue };
                seen += data.len();
                // Copied, so that a short body does not hold on to a whole buffer.
                kept.extend_from_slice(&data[..data.len().min(most - kept.len())]);
                if seen > READ.max(most) {
                    return done(kept, seen, false);
                }
            }
            Ok(None) => return done(kept, seen, true),
            Ok(Some(Err(_))) | Err(_) => return done(kept, seen, false),
        }
    }
}

/// `name: value` lines; bytes that are not UTF-8 are replaced.
pub(crate) fn header_lines(headers: &HeaderMap) -> Bytes {
    let length = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 3).sum();
    let mut lines = BytesMut::with_capacity(LONGEST_HEADERS.min(length));
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let room = LONGEST_HEADERS - lines.len();
        let line = [name.as_str(), ": ", &*value, "\n"];
        if line.iter().map(|part| part.len()).sum::<usize>() > room {
            // A line that does not fit is left out: half a value could be taken for a whole one.
            continue;
        }
        for part in line {
            lines.extend_from_slice(part.as_bytes());
        }
    }
    lines.freeze()
}

/// How long the peer says that it keeps the connection, less a margin for the way there.
pub(crate) fn keep_for(headers: &HeaderMap) -> Option<Duration> {
    const MARGIN: Duration = Duration::from_millis(500);
    let value = headers.get(&KEEP_ALIVE)?.to_str().ok()?;
    let parameter = value.split(',').find_map(|part| part.trim().strip_prefix("timeout="))?;
    let secs = parameter.parse::<u32>().ok()?;
    Some(Duration::from_secs(secs.into()).saturating_sub(MARGIN))
}

const KEEP_ALIVE: header::HeaderName = header::HeaderName::from_static("keep-alive");

/// Nothing that can be called an answer came.
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

/// The peer says that it did not look at the request, so it may be sent again at once. HTTP/2
/// alone can say this, by refusing the stream or by going away without an error. hyper does not
/// show its reasons, so they are known by their texts; one that is missed is an attempt.
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
