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

/// The senders, which send until this is dropped.
pub struct UnsignedSenders {
    open: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
    _senders: JoinSet<()>,
}

/// The size of the largest body that is accepted.
const ANNOUNCED: usize = 256 * 1_024;
/// Time between two bytes of a body.
const SPACING: Duration = Duration::from_secs(1);
/// How long a rejected sender waits before it reconnects: short enough to hold every possible connection, and
/// long enough that the machine is not busy with opening connections.
const REST: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);
/// Maximum time to wait until all are connected; some may always be rejected.
const TO_START: Duration = Duration::from_secs(5);

impl UnsignedSenders {
    /// Starts the senders, from 127.0.0.2 and that many addresses in total. Returns when all have been
    /// connected once.
    pub async fn start(ingest: SocketAddr, count: usize, addresses: u8) -> Self {
        let (open, opened) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let mut senders = JoinSet::new();
        for number in 0..count {
            let from = Ipv4Addr::new(127, 0, 0, 2 + (number % usize::from(addresses.max(1))) as u8);
            // Half of them name an existing partner.
            let partner = if number % 2 == 0 { PARTNER } else { "nobody" };
            let (open, opened) = (open.clone(), opened.clone());
            senders.spawn(async move {
                loop {
                    if let Ok(stream) = connect(ingest, from).await {
                        opened.fetch_add(1, Relaxed);
                        open.fetch_add(1, Relaxed);
                        // The gateway may disconnect at any time.
                        let _ = send_slowly(stream, partner).await;
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

    /// Returns the number of open connections, and of all that were opened.
    pub fn counts(&self) -> (usize, usize) {
        (self.open.load(Relaxed), self.opened.load(Relaxed))
    }
}

async fn connect(to: SocketAddr, from: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to).await
}

/// Announces a large body and sends a byte of it now and then, until the gateway responds or disconnects.
async fn send_slowly(mut stream: TcpStream, partner: &str) -> std::io::Result<()> {
    let head = format!(
        "POST /webhooks/{partner} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n\
         x-key-id: k1\r\nx-timestamp: 1\r\nx-signature: hmac-sha256=AAAA\r\n\
         content-length: {ANNOUNCED}\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = [0; 1_024];
    loop {
        match timeout(SPACING, stream.read(&mut answer)).await {
            // Any response ends this one.
            Ok(_) => return Ok(()),
            Err(_) => stream.write_all(b" ").await?,
        }
    }
}
