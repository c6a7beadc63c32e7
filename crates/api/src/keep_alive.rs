//! Decides whether a connection can be reused for another request.

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Response, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::answer::AnswerBody;

/// What the response needs to know about its request.
pub(crate) struct KeepAlive {
    expects_continue: bool,
}

impl KeepAlive {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self { expects_continue: parts.headers.contains_key(header::EXPECT) }
    }

    /// Adds `Connection: close` if a part of the request body has not arrived yet. Otherwise the client would
    /// send its next request on this connection, and get no response.
    pub(crate) fn finish<B>(
        &self,
        mut response: Response<AnswerBody>,
        body: &mut B,
    ) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if !is_body_consumed(self.expects_continue, body) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Whether the body of an answered request has fully arrived, so that its connection can be reused. Reads
/// what has arrived, up to a limit, without waiting. `expects_continue` means that the client waits for `100
/// Continue`, which it must not get now.
fn is_body_consumed<B>(expects_continue: bool, body: &mut B) -> bool
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut drained = 0;
    while !body.is_end_stream() {
        if expects_continue {
            return false;
        }
        match body.frame().now_or_never() {
            Some(Some(Ok(frame))) => {
                drained += frame.data_ref().map_or(0, Bytes::len);
                if drained > MAX_DRAINED {
                    return false;
                }
            }
            Some(None) => return true,
            Some(Some(Err(_))) | None => return false,
        }
    }
    true
}

const MAX_DRAINED: usize = 64 * 1024;
