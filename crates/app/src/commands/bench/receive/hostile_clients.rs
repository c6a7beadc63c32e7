//! Hostile clients: some post webhooks with invalid signatures, others send as slowly as they can.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::commands::bench::{
    http_connection::HttpConnection,
    signed::{PARTNER, webhook},
};

const CONNECTIONS: usize = 32;

pub struct Flood {
    refused: Arc<AtomicUsize>,
    stop: CancellationToken,
    /// The senders, which end with it.
    _senders: JoinSet<()>,
}

impl Flood {
    pub async fn start(ingest: SocketAddr, rate: u32, size: usize) -> anyhow::Result<Self> {
        let (refused, stop) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let mut senders = JoinSet::new();
        let begin = Instant::now();
        for sender in 0..CONNECTIONS {
            let (refused, stop) = (refused.clone(), stop.clone());
            let mut line = HttpConnection::open(ingest).await?;
            senders.spawn(async move {
                let body = webhook(sender, size);
                let path = format!("/webhooks/{PARTNER}");
                let headers = "x-key-id: k1\r\nx-timestamp: 1\r\nx-signature: hmac-sha256=AAAA";
                for turn in (sender..).step_by(CONNECTIONS) {
                    let due = Duration::from_secs_f64(turn as f64 / f64::from(rate));
                    tokio::time::sleep_until(begin + due).await;
                    if stop.is_cancelled() {
                        return;
                    }
                    match line.post(&path, headers, body.as_bytes()).await {
                        Ok((403, _)) => refused.fetch_add(1, Relaxed),
                        _ => return,
                    };
                }
            });
        }
        Ok(Self { refused, stop, _senders: senders })
    }

    pub fn refused(&self) -> usize {
        self.refused.load(Relaxed)
    }

    pub fn stop(self) {
        self.stop.cancel();
    }
}

pub struct SlowSenders {
    open: Arc<AtomicUsize>,
    /// The senders, which end with it.
    senders: JoinSet<()>,
}

impl SlowSenders {
    /// Returns when all are connected. Closed connections are opened again.
    pub async fn start(ingest: SocketAddr, count: usize) -> anyhow::Result<Self> {
        let open = Arc::new(AtomicUsize::new(0));
        let mut senders = JoinSet::new();
        for _ in 0..count {
            let stream = TcpStream::connect(ingest).await?;
            let open = open.clone();
            senders.spawn(async move {
                let mut next = Some(stream);
                loop {
                    let stream = match next.take() {
                        Some(stream) => Ok(stream),
                        None => TcpStream::connect(ingest).await,
                    };
                    if let Ok(stream) = stream {
                        open.fetch_add(1, Relaxed);
                        send_slowly(stream).await;
                        open.fetch_sub(1, Relaxed);
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            });
        }
        Ok(Self { open, senders })
    }

    pub fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    pub fn stop(mut self) {
        self.senders.abort_all();
    }
}

/// Sends a byte per second, until it is disconnected.
async fn send_slowly(mut stream: TcpStream) {
    let head = format!("POST /webhooks/{PARTNER} HTTP/1.1\r\nx-filler: ");
    for byte in head.bytes().chain(std::iter::repeat(b'x')) {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
