//! A receiver that follows its script byte by byte, and records what it received. It does not implement HTTP,
//! because it exists to send broken responses.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::receiver_h2::H2Connection;

/// The next step on a connection. After the last step it is closed.
#[derive(Debug, Clone)]
pub enum Step {
    /// Reads a head, and as much body as its `content-length` says.
    ReadRequest,
    ReadBytes(usize),
    Send(Vec<u8>),
    /// Sends one byte, pauses, sends the next byte.
    Drip(Vec<u8>, Duration),
    /// Sends the same bytes again and again, until the peer closes.
    Flood(Vec<u8>),
    /// Closes with RST instead of FIN.
    Reset,
    /// Sends no more, but still reads.
    HalfClose,
    /// Reads and sends nothing until the peer closes.
    Hang,
    /// Reads one whole HTTP/2 request; the first time also sends the preface.
    ReadH2,
    /// Answers the oldest HTTP/2 request that has no answer yet.
    AnswerH2(u16),
    /// Sends any frame, on the stream of the oldest unanswered request, or on none.
    SendH2 {
        kind: u8,
        flags: u8,
        on_stream: bool,
        payload: Vec<u8>,
    },
}

impl Step {
    pub fn send(text: &str) -> Self {
        Self::Send(text.as_bytes().to_vec())
    }

    /// Responds 200 without a body, and the connection may be used again.
    pub fn ok() -> Self {
        Self::send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    }
}

type Script = Arc<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

pub struct Receiver {
    address: SocketAddr,
    seen: Arc<Received>,
    /// Dropping it closes everything.
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Received {
    accepted: AtomicUsize,
    written: AtomicUsize,
    requests: Mutex<Vec<Request>>,
}

/// A request as received.
#[derive(Debug, Clone)]
pub struct Request {
    /// The number of the connection, from 0.
    pub connection: usize,
    pub bytes: Vec<u8>,
}

impl Request {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Receiver {
    /// Starts a receiver. Calls `script` once per connection, with its number.
    pub async fn plain(
        script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::on((Ipv4Addr::LOCALHOST, 0).into(), None, script).await
    }

    pub async fn tls(
        config: Arc<ServerConfig>,
        script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::on((Ipv4Addr::LOCALHOST, 0).into(), Some(config), script).await
    }

    pub async fn on(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Received::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, tls.map(TlsAcceptor::from), Arc::new(script), seen.clone()));
        Ok(Self { address, seen, _tasks: tasks })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns how many connections were made to it, including failed ones.
    pub fn accepted(&self) -> usize {
        self.seen.accepted.load(Ordering::SeqCst)
    }

    /// Returns how many bytes it has sent in [`Step::Flood`].
    pub fn written(&self) -> usize {
        self.seen.written.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    script: Script,
    seen: Arc<Received>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = seen.accepted.fetch_add(1, Ordering::SeqCst);
        let (tls, script, seen) = (tls.clone(), script.clone(), seen.clone());
        connections.spawn(async move {
            let steps = script(number);
            // If anything fails here, the test sees it at the other end.
            let _ended = match tls {
                None => Player::new(stream, number, seen).play(steps).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Player::new(stream, number, seen).play(steps).await,
                    Err(error) => Err(error.into()),
                },
            };
        });
    }
}

pub(crate) trait RawStream: AsyncRead + AsyncWrite + Unpin + Send {
    fn tcp(&self) -> &TcpStream;
}

impl RawStream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl RawStream for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

struct Player<S> {
    stream: S,
    number: usize,
    seen: Arc<Received>,
    /// Bytes that were read but are not yet part of a request.
    spare: Vec<u8>,
    frames: H2Connection,
}

impl<S: RawStream> Player<S> {
    fn new(stream: S, number: usize, seen: Arc<Received>) -> Self {
        Self { stream, number, seen, spare: Vec::new(), frames: H2Connection::default() }
    }

    async fn play(mut self, steps: Vec<Step>) -> Result<()> {
        for step in steps {
            match step {
                Step::ReadRequest => {
                    let bytes = self.read_request().await?;
                    self.note(bytes);
                }
                Step::ReadBytes(count) => {
                    let mut bytes = vec![0; count];
                    self.stream.read_exact(&mut bytes).await?;
                }
                Step::Send(bytes) => {
                    self.stream.write_all(&bytes).await?;
                    self.stream.flush().await?;
                }
                Step::Drip(bytes, pause) => {
                    for byte in bytes {
                        self.stream.write_all(&[byte]).await?;
                        self.stream.flush().await?;
                        sleep(pause).await;
                    }
                }
                Step::Flood(bytes) => loop {
                    self.stream.write_all(&bytes).await?;
                    self.seen.written.fetch_add(bytes.len(), Ordering::SeqCst);
                },
                Step::Reset => {
                    self.stream.tcp().set_zero_linger()?;
                    return Ok(());
                }
                Step::HalfClose => self.stream.shutdown().await?,
                Step::Hang => {
                    let mut bytes = [0; 4096];
                    while self.stream.read(&mut bytes).await? > 0 {}
                }
                Step::ReadH2 => {
                    let bytes = self.frames.read_request(&mut self.stream).await?;
                    self.note(bytes);
                }
                Step::AnswerH2(status) => self.frames.answer(&mut self.stream, status).await?,
                Step::SendH2 { kind, flags, on_stream, payload } => {
                    self.frames.send(&mut self.stream, kind, flags, on_stream, &payload).await?;
                }
            }
        }
        self.stream.shutdown().await?;
        Ok(())
    }

    fn note(&self, bytes: Vec<u8>) {
        let mut requests = self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(Request { connection: self.number, bytes });
    }

    async fn read_request(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(length) = whole(&self.spare) {
                let rest = self.spare.split_off(length);
                return Ok(std::mem::replace(&mut self.spare, rest));
            }
            if self.stream.read_buf(&mut self.spare).await? == 0 {
                anyhow::bail!("the peer went away");
            }
        }
    }
}

/// Returns the length of the first request in the bytes, if it is complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|value| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    (bytes.len() >= head + length).then_some(head + length)
}
