//! Starts HTTP on an open connection. A tracked task drives each connection and ends when its last handle
//! is dropped or the peer closes it.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::Code;
use http_body_util::Full;
use hyper::{
    client::conn::{http1, http2},
    rt::{Read, Write},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio_util::task::TaskTracker;

use crate::{connect::Stream, outcome::RequestError};

/// Maximum size of the response headers.
const MAX_HEAD_LENGTH: usize = 64 * 1024;
/// The HTTP/2 flow-control window of a response: as much as is ever read.
const WINDOW: u32 = 64 * 1024;
/// Pings detect a dead peer before the next delivery does.
const PING_AFTER: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type Body = Full<Bytes>;

pub(crate) enum Sender {
    H1(http1::SendRequest<Body>),
    H2(http2::SendRequest<Body>),
}

pub(crate) async fn start(stream: Stream, tasks: &TaskTracker) -> Result<Sender, RequestError> {
    match stream {
        Stream::Plain(stream) => start_h1(TokioIo::new(stream), tasks).await,
        Stream::Tls(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            start_h2(TokioIo::new(stream), tasks).await
        }
        Stream::Tls(stream) => start_h1(TokioIo::new(stream), tasks).await,
    }
}

async fn start_h1<T>(io: T, tasks: &TaskTracker) -> Result<Sender, RequestError>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_LENGTH)
        .handshake(io)
        .await
        .map_err(|error| unstarted(&error))?;
    tasks.spawn(async move {
        if let Err(error) = connection.await {
            tracing::trace!(%error, "connection ended");
        }
    });
    Ok(Sender::H1(sender))
}

async fn start_h2<T>(io: T, tasks: &TaskTracker) -> Result<Sender, RequestError>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (sender, connection) = http2::Builder::new(Tracked(tasks.clone()))
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(16 * WINDOW)
        .max_header_list_size(MAX_HEAD_LENGTH as u32)
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_TIMEOUT)
        .handshake(io)
        .await
        .map_err(|error| unstarted(&error))?;
    tasks.spawn(async move {
        if let Err(error) = connection.await {
            tracing::trace!(%error, "connection ended");
        }
    });
    Ok(Sender::H2(sender))
}

fn unstarted(error: &hyper::Error) -> RequestError {
    RequestError::new(Code::PROTOCOL_ERROR, format!("could not start HTTP: {error}"))
}

/// Lets hyper spawn its tasks on the task tracker.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
