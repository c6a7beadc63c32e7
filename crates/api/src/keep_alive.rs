//! The end of an answer: whether the connection can be used for another request.

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Response, Version, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::answer::AnswerBody;

/// What must be known of a request to end its answer.
pub(crate) struct KeepAlive {
    /// In HTTP/2 a body that is not read holds up nothing else.
    is_http1: bool,
    expects_continue: bool,
}

impl KeepAlive {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            is_http1: parts.version < Version::HTTP_2,
            expects_continue: parts.headers.contains_key(header::EXPECT),
        }
    }

    /// A connection on which more of a request is to come cannot be used again, and that is said: who
    /// is not told sends the next request on it, and gets no answer.
    pub(crate) fn finish<B>(
        &self,
        mut response: Response<AnswerBody>,
        body: &mut B,
    ) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if self.is_http1 && !is_body_consumed(self.expects_continue, body) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Whether nothing more is to come of a request that is answered already: then its connection can be
/// used again. What has arrived is taken, up to a bound; nothing is waited for.
/// `expects` says that the sender waits to be told to go on, which it must not be now.
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
