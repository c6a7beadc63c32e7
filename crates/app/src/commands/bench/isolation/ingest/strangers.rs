//! Senders without a signature that use all the time they get, and reconnect when they are rejected.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::commands::bench::signed::PARTNER;

/// They send until this is dropped.
pub struct Strangers {
    open: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
    _senders: JoinSet<()>,
}

/// The largest body that is taken.
const ANNOUNCED: usize = 256 * 1_024;
/// Between two bytes of a body.
const SPACING: Duration = Duration::from_secs(1);
/// A rejected sender reconnects after this: soon enough to hold every possible connection, and seldom enough that the
/// machine is not busy with opening connections.
const REST: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);
/// Maximum time to wait until all are connected; some may always be rejected.
const TO_START: Duration = Duration::from_secs(5);

impl Strangers {
    /// Returns when all have been connected once, from 127.0.0.2 and that many addresses in all.
    pub async fn start(ingest: SocketAddr, count: usize, addresses: u8) -> Self {
        let (open, opened) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let mut senders = JoinSet::new();
        for number in 0..count {
            let from = Ipv4Addr::new(127, 0, 0, 2 + (number % usize::from(addresses.max(1))) as u8);
            // Half of them name a partner that there is.
            let partner = if number % 2 == 0 { PARTNER } else { "nobody" };
            let (open, opened) = (open.clone(), opened.clone());
            senders.spawn(async move {
                loop {
                    if let Ok(stream) = connect(ingest, from).await {
                        opened.fetch_add(1, Relaxed);
                        open.fetch_add(1, Relaxed);
                        // The gateway may hang up at any time.
                        let _ = dawdle(stream, partner).await;
                        open.fetch_sub(1, Relaxed);
                    }
                    sleep(REST).await;
                }
            });
        }
        let all_connected = async {
            while opened.load(Relaxed) < count {
                sleep(POLL).await;
            }
        };
        let _ = timeout(TO_START, all_connected).await;
        Self { open, opened, _senders: senders }
    }

    /// Connections that are open now, and that were opened in all.
    pub fn counts(&self) -> (usize, usize) {
        (self.open.load(Relaxed), self.opened.load(Relaxed))
    }
}

async fn connect(to: SocketAddr, from: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// Announces a large body and sends a byte of it now and then, until the gateway answers or hangs up.
async fn dawdle(mut stream: TcpStream, partner: &str) -> std::io::Result<()> {
    let head = format!(
        "POST /webhooks/{partner} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n\
         x-key-id: k1\r\nx-timestamp: 1\r\nx-signature: hmac-sha256=AAAA\r\n\
         content-length: {ANNOUNCED}\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = [0; 1_024];
    loop {
        match timeout(SPACING, stream.read(&mut answer)).await {
            // Any answer is the end of this one.
            Ok(_) => return Ok(()),
            Err(_) => stream.write_all(b" ").await?,
        }
    }
}
