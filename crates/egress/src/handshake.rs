//! Starts HTTP on an open connection. A tracked task drives each connection and ends when its last handle
//! is dropped or the peer closes it.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
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
/// Streams before the peer has sent its settings.
const STREAMS_BEFORE_SETTINGS: usize = 1;
/// Pings detect a dead peer before the next delivery does.
const PING_AFTER: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type Body = Full<Bytes>;

pub(crate) enum Sender {
    H1(http1::SendRequest<Body>),
    H2(http2::SendRequest<Body>, Arc<MaxStreams>),
}

/// How many concurrent streams the peer of a connection allows.
pub(crate) struct MaxStreams {
    max: AtomicU32,
    /// The task that drives the connection.
    task: AtomicWaker,
}

impl MaxStreams {
    pub(crate) fn get(&self) -> u32 {
        self.max.load(Ordering::Relaxed)
    }

    /// Reads the peer's settings again: they may arrive with any response.
    pub(crate) fn refresh(&self) {
        self.task.wake();
    }
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
    let (sender, connection) = http2::Builder::new(TrackedExecutor(tasks.clone()))
        .timer(TokioTimer::new())
        .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(16 * WINDOW)
        .max_header_list_size(MAX_HEAD_LENGTH as u32)
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_TIMEOUT)
        .handshake(io)
        .await
        .map_err(|error| unstarted(&error))?;
    let max_streams = Arc::new(MaxStreams {
        max: AtomicU32::new(STREAMS_BEFORE_SETTINGS as u32),
        task: AtomicWaker::new(),
    });
    let announced = max_streams.clone();
    tasks.spawn(async move {
        let mut connection = pin!(connection);
        let ended = poll_fn(|context| {
            announced.task.register(context.waker());
            let polled = connection.as_mut().poll(context);
            let max = connection.current_max_send_streams();
            announced.max.store(u32::try_from(max).unwrap_or(u32::MAX), Ordering::Relaxed);
            polled
        });
        if let Err(error) = ended.await {
            tracing::trace!(%error, "connection ended");
        }
    });
    Ok(Sender::H2(sender, max_streams))
}

fn unstarted(error: &hyper::Error) -> RequestError {
    RequestError::new(Code::PROTOCOL_ERROR, format!("could not start HTTP: {error}"))
}

/// Lets hyper spawn its tasks on the task tracker.
#[derive(Clone)]
struct TrackedExecutor(TaskTracker);

impl<F> hyper::rt::Executor<F> for TrackedExecutor
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
