//! A mail server that accepts everything and stores nothing. Minimal, so that it uses little of the machine
//! that is measured.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_util::task::TaskTracker;

pub struct Server {
    pub address: SocketAddr,
    count: AtomicUsize,
    news: Notify,
}

impl Server {
    pub async fn start(tasks: &TaskTracker) -> anyhow::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = Arc::new(Self { address, count: AtomicUsize::new(0), news: Notify::new() });
        let (mine, others) = (server.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = mine.clone();
                let _ = stream.set_nodelay(true);
                // A client that disconnects halfway is ignored.
                others.spawn(async move { server.serve_session(stream).await.unwrap_or_default() });
            }
        });
        Ok(server)
    }

    /// Returns when this many e-mails have arrived.
    pub async fn arrived(&self, count: usize, patience: Duration) -> anyhow::Result<()> {
        while self.count.load(Relaxed) < count {
            let news = tokio::time::timeout(patience, self.news.notified()).await;
            let so_far = self.count.load(Relaxed);
            anyhow::ensure!(news.is_ok(), "only {so_far} of {count} e-mails arrived");
        }
        Ok(())
    }

    async fn serve_session(&self, stream: TcpStream) -> anyhow::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        let mut in_letter = false;
        stream.write_all(b"220 bench ESMTP\r\n").await?;
        loop {
            line.clear();
            if stream.read_until(b'\n', &mut line).await? == 0 {
                return Ok(());
            }
            let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
            let answer: &[u8] = match (in_letter, verb.as_slice()) {
                (true, _) if line == b".\r\n" => {
                    in_letter = false;
                    self.count.fetch_add(1, Relaxed);
                    self.news.notify_one();
                    b"250 2.0.0 taken\r\n"
                }
                (true, _) => continue,
                (false, b"DATA") => {
                    in_letter = true;
                    b"354 go ahead\r\n"
                }
                (false, b"QUIT") => {
                    stream.write_all(b"221 2.0.0 bye\r\n").await?;
                    return Ok(());
                }
                (false, b"EHLO") => b"250-bench\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n",
                (false, _) => b"250 2.0.0 ok\r\n",
            };
            stream.write_all(answer).await?;
        }
    }
}
