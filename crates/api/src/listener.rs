//! Accepts connections. It has its own accept loop, because no library offers what a listener needs on a
//! public network: deadlines for the first byte, the head and the body, connection limits, and strict
//! framing.
//!
//! `connections` tracks open connections and chooses which to close; `guarded_stream` is the stream of a
//! connection, with its deadlines; `framing` rejects ambiguous framing. The caller passes the service that
//! answers: `service` for the API, `ingest` for partners.

mod connections;
mod framing;
mod guarded_stream;

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use gancho_egress::shortage::is_shortage;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Service;

use self::{
    connections::{ConnectionSlot, ConnectionTable},
    guarded_stream::GuardedStream,
};
use crate::{answer::AnswerBody, client_address::TrustedProxies, meter::ConnectionCounters};

pub use self::connections::{AnswerGuard, ConnectionState, ReadGuard};

#[derive(Debug, Clone)]
pub struct ListenSettings {
    /// Maximum open connections. Beyond it, the connection that has been idle longest without authentication
    /// is closed. A new one is refused only if all others are being answered.
    pub connections: usize,
    /// Maximum open connections of one address.
    pub connections_per_address: usize,
    /// Proxies, which have no limit per address.
    pub trusted_proxies: TrustedProxies,
    /// Time limit for a request head, from its first byte or from the start of the connection.
    pub head_deadline: Duration,
    /// A connection is closed after this time without a byte in either direction.
    pub idle_deadline: Duration,
    /// Maximum size of a request head.
    pub head_bytes: usize,
    /// Host names to accept besides those of this machine, when listening on the loopback interface.
    pub allowed_hosts: Vec<String>,
}

impl Default for ListenSettings {
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_address: 1_024,
            trusted_proxies: TrustedProxies::default(),
            head_deadline: Duration::from_secs(10),
            idle_deadline: Duration::from_secs(75),
            head_bytes: 32 * 1024,
            allowed_hosts: Vec::new(),
        }
    }
}

/// The response to a refused connection.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\n\
retry-after: 1\r\n\
connection: close\r\n\
content-length: 185\r\n\r\n\
{\"type\":\"/docs/errors/unavailable\",\"title\":\"Service unavailable\",\"status\":503,\
\"detail\":\"too many open connections; retry in a moment\",\"code\":\"unavailable\",\
\"errors\":[],\"request_id\":null}";

/// Pause after an accept error, e.g. when the system is out of file handles.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Number of idle connections that are closed in that case.
const CONNECTIONS_TO_FREE: usize = 8;
/// How long a stop waits for streams to end.
const STREAM_GRACE: Duration = Duration::from_millis(500);
/// How long a stop waits for clients to read their responses, and to send their requests.
const RESPONSE_GRACE: Duration = Duration::from_secs(3);
/// Maximum unsent bytes of a connection in the kernel.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_UNSENT: u32 = 64 * 1024;
/// How long a connection that was chosen to be closed may continue with an incomplete request.
const EVICTED_GRACE: Duration = Duration::from_secs(10);
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The other end of a connection.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    pub connection: Arc<ConnectionState>,
    pub trusted_proxies: TrustedProxies,
}

/// Accepts connections until `stop`, and returns when the last one is closed. Calls `service` for each
/// connection.
pub(crate) async fn accept_connections<S>(
    listener: TcpListener,
    service: impl Fn(Peer) -> S,
    traffic: Arc<ConnectionCounters>,
    settings: ListenSettings,
    stop: CancellationToken,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let table = Arc::new(ConnectionTable::new(
        settings.connections,
        settings.connections_per_address,
        settings.trusted_proxies.clone(),
    ));
    let mut accept_errors = AcceptErrors::default();
    let server = Arc::new(builder(&settings));
    let tracker = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_transient(&error) {
                    let freed =
                        if is_shortage(&error) { table.make_room(CONNECTIONS_TO_FREE) } else { 0 };
                    accept_errors.log(&error, freed);
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                continue;
            }
        };
        let Some(slot) = table.admit(peer.ip()) else {
            traffic.shed_one();
            let _ = stream.try_write(REFUSAL);
            continue;
        };
        let peer = Peer {
            address: peer,
            connection: slot.connection.clone(),
            trusted_proxies: settings.trusted_proxies.clone(),
        };
        let connection = Connection { stream, slot, service: service(peer), stop: stop.clone() };
        tracker.spawn(connection.serve(server.clone(), traffic.clone(), settings.clone()));
    }
    drop(listener);
    tracker.close();
    tracker.wait().await;
    Ok(())
}

fn builder(settings: &ListenSettings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .half_close(false)
        .max_headers(100)
        .max_buf_size(settings.head_bytes.max(8 * 1024));
    // With HTTP/2, each connection of a client that does not read could hold hundreds of responses.
    builder.http1_only()
}

/// Whether it is an error of the peer that needs no reaction.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

/// Accept errors, logged once a minute.
#[derive(Default)]
struct AcceptErrors {
    logged_at: Option<Instant>,
    count: u64,
    freed: usize,
}

impl AcceptErrors {
    fn log(&mut self, error: &io::Error, freed: usize) {
        self.count += 1;
        self.freed += freed;
        if self.logged_at.is_some_and(|at| at.elapsed() < LOG_INTERVAL) {
            return;
        }
        tracing::warn!(
            %error,
            count = self.count,
            closed = self.freed,
            "could not accept connections; closing idle ones to make room"
        );
        *self = Self { logged_at: Some(Instant::now()), ..Self::default() };
    }
}

struct Connection<S> {
    stream: TcpStream,
    slot: ConnectionSlot,
    service: S,
    stop: CancellationToken,
}

impl<S> Connection<S>
where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    async fn serve(
        self,
        server: Arc<auto::Builder<TokioExecutor>>,
        traffic: Arc<ConnectionCounters>,
        settings: ListenSettings,
    ) {
        let Self { stream, slot, service, stop } = self;
        let state = slot.connection.clone();
        let _open = OpenCount::new(traffic);
        // Responses are small, and clients wait for them.
        let _ = stream.set_nodelay(true);
        limit_unsent(&stream);
        let guarded = GuardedStream::new(stream, &settings, &slot);
        let service = TowerToHyperService::new(service);
        let connection = server.serve_connection(TokioIo::new(guarded), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                // A stream ends by its last event, unless its reader has stopped reading.
                let grace = if state.has_stream() { STREAM_GRACE } else { RESPONSE_GRACE };
                let Some(ended) = finish(connection, grace, &state).await else { return };
                ended
            }
            () = state.must_close() => {
                // A request that arrived in the meantime is answered. A body that is still arriving gets some
                // time, so that many slow senders do not reconnect at once.
                let ending = slot.table.end_slowly();
                if !state.is_being_answered() || ending.is_none() && !state.is_busy() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
                let Some(ended) = finish(connection, EVICTED_GRACE, &state).await else { return };
                ended
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection closed early");
        }
        drop(slot);
    }
}

/// Waits for a connection that was asked to close. After `grace`, only one that is being answered continues;
/// `None` for others.
async fn finish<F: Future>(
    mut connection: Pin<&mut F>,
    grace: Duration,
    state: &ConnectionState,
) -> Option<F::Output> {
    match tokio::time::timeout(grace, connection.as_mut()).await {
        Ok(ended) => Some(ended),
        Err(_) if state.is_busy() => Some(connection.await),
        Err(_) => None,
    }
}

/// Limits how much unsent data the kernel holds. Otherwise a client that does not read would use megabytes of
/// memory that nothing counts.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn limit_unsent(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(MAX_UNSENT);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn limit_unsent(_: &TcpStream) {}

/// Counts an open connection until it is dropped.
struct OpenCount(Arc<ConnectionCounters>);

impl OpenCount {
    fn new(traffic: Arc<ConnectionCounters>) -> Self {
        traffic.connected();
        Self(traffic)
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.disconnected();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_are_turned_away_get_a_whole_answer() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["code"], "unavailable");
    }
}
