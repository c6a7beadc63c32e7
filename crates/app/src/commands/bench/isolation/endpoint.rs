//! Endpoints on loopback, healthy and dead, each with its own listener, so that the gateway sees another host
//! for each. They implement as little HTTP as necessary, so that they use little of the machine.

#[cfg(test)]
mod tests;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use clap::ValueEnum;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::arrivals::Arrivals;
use crate::commands::bench::{http_connection::content_length, sink};

/// How a dead endpoint fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailureMode {
    /// Reads the request and never answers.
    Hang,
    /// Answers with a head, then a byte a second.
    Drip,
    /// Refuses connections.
    Refuse,
    /// Drops connection requests without an answer.
    Blackhole,
    /// Answers 500 after 10 seconds.
    Error,
    /// Answers 200 after a second.
    Slow,
}

#[derive(Clone)]
pub enum Behavior {
    /// Answers 200 at once and notes the arrival.
    Record(Arc<Arrivals>),
    /// Notes the arrival, and answers 200 after that time.
    RecordAfter(Arc<Arrivals>, Duration),
    /// Answers 503 at once.
    Fail,
    Hang,
    Drip,
    /// Answers 500 after 10 seconds.
    LateError,
    /// Answers 200 after that time.
    Late(Duration),
}

/// Serves until it is dropped.
pub struct Endpoint {
    pub address: SocketAddr,
    requests: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
    /// A socket that nobody listens on, or a listener that nobody accepts from.
    _idle: Option<IdleSocket>,
}

enum IdleSocket {
    Bound { _socket: TcpSocket },
    Full { _listener: TcpListener, _queued: Vec<TcpStream> },
}

/// Maximum connections that wait to be accepted. With fewer, the kernel would delay a larger burst: it
/// repeats dropped connection requests after a second.
const BACKLOG: u32 = 4_096;
/// A connection on loopback that is not established by then never is.
const TO_CONNECT: Duration = Duration::from_millis(50);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const ERROR: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
const UNAVAILABLE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
const LONG: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";

impl Endpoint {
    pub fn start(behavior: Behavior) -> anyhow::Result<Self> {
        let listener = bound()?.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicUsize::new(0));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, behavior, requests.clone()));
        Ok(Self { address, requests, _serving: serving, _idle: None })
    }

    pub async fn dead(kind: FailureMode) -> anyhow::Result<Self> {
        match kind {
            FailureMode::Hang => Self::start(Behavior::Hang),
            FailureMode::Drip => Self::start(Behavior::Drip),
            FailureMode::Error => Self::start(Behavior::LateError),
            FailureMode::Slow => Self::start(Behavior::Late(Duration::from_secs(1))),
            FailureMode::Refuse => {
                let socket = bound()?;
                let address = socket.local_addr()?;
                Ok(Self::idle(address, IdleSocket::Bound { _socket: socket }))
            }
            FailureMode::Blackhole => {
                // The kernel drops connection requests while the queue of a listener is full.
                let listener = bound()?.listen(0)?;
                let address = listener.local_addr()?;
                let mut queued = Vec::new();
                while let Ok(connected) = timeout(TO_CONNECT, TcpStream::connect(address)).await {
                    queued.push(connected?);
                }
                Ok(Self::idle(address, IdleSocket::Full { _listener: listener, _queued: queued }))
            }
        }
    }

    fn idle(address: SocketAddr, idle: IdleSocket) -> Self {
        Self { address, requests: Arc::default(), _serving: JoinSet::new(), _idle: Some(idle) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Returns how many requests it has read. Endpoints that accept no connection know of none.
    pub fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

fn bound() -> anyhow::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok(socket)
}

async fn serve(listener: TcpListener, behavior: Behavior, requests: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (behavior, requests) = (behavior.clone(), requests.clone());
                    // A gateway that disconnects halfway is not an error of the endpoint.
                    connections.spawn(async move {
                        let _ = converse(stream, behavior, &requests).await;
                    });
                }
                Err(_) => sleep(TO_CONNECT).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(
    mut stream: TcpStream,
    behavior: Behavior,
    requests: &AtomicUsize,
) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(4_096);
    while let Some(length) = read_request(&mut stream, &mut buffer).await? {
        requests.fetch_add(1, Relaxed);
        match &behavior {
            Behavior::Record(arrivals) => {
                record(arrivals, &buffer[..length]);
                stream.write_all(OK).await?;
            }
            Behavior::RecordAfter(arrivals, after) => {
                record(arrivals, &buffer[..length]);
                sleep(*after).await;
                stream.write_all(OK).await?;
            }
            Behavior::Fail => stream.write_all(UNAVAILABLE).await?,
            // Until the gateway disconnects.
            Behavior::Hang => while stream.read_buf(&mut buffer).await? > 0 {},
            Behavior::Drip => {
                stream.write_all(LONG).await?;
                loop {
                    stream.write_all(b".").await?;
                    sleep(Duration::from_secs(1)).await;
                }
            }
            Behavior::LateError => {
                sleep(Duration::from_secs(10)).await;
                stream.write_all(ERROR).await?;
            }
            Behavior::Late(after) => {
                sleep(*after).await;
                stream.write_all(OK).await?;
            }
        }
        buffer.drain(..length.min(buffer.len()));
    }
    Ok(())
}

fn record(arrivals: &Arrivals, request: &[u8]) {
    if let Some(number) = sink::number(request, sink::NUMBERED.as_bytes()) {
        arrivals.arrive(number);
    }
}

/// Reads until a whole request is at the beginning of the buffer, and returns its length. `None` at the end.
async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> anyhow::Result<Option<usize>> {
    let mut length = None;
    loop {
        if length.is_none()
            && let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n")
        {
            let body = content_length(std::str::from_utf8(&buffer[..end])?)?.unwrap_or(0);
            length = Some(end + 4 + body);
        }
        if let Some(length) = length.filter(|length| buffer.len() >= *length) {
            return Ok(Some(length));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
