//! Calls lists, one by one and concurrently, and checks whether the gateway is ready meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::ensure;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::commands::bench::{child::Child, http_connection::HttpConnection};

/// Maximum time to wait for a page.
const TO_ANSWER: Duration = Duration::from_secs(60);
const ROUNDS: usize = 3;
const READY_EVERY: Duration = Duration::from_millis(100);
/// Maximum time to wait for `/readyz`, as a supervisor does.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Returns the longest duration of a few calls.
pub async fn time_page(gateway: &Child, key: &str, path: &str) -> anyhow::Result<Duration> {
    let mut line = HttpConnection::open(gateway.address).await?;
    let mut longest = Duration::ZERO;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let Ok(answer) = timeout(TO_ANSWER, line.send("GET", path, key, b"")).await else {
            return Ok(TO_ANSWER);
        };
        let (status, body) = answer?;
        ensure!(status == 200, "{path} answered {status}: {}", String::from_utf8_lossy(&body));
        longest = longest.max(start.elapsed());
    }
    Ok(longest)
}

/// The readers, which read until this is dropped.
pub struct Readers {
    pages: Arc<AtomicUsize>,
    _reading: JoinSet<()>,
}

impl Readers {
    pub fn start(gateway: &Child, key: &str, paths: &[String], count: usize) -> Self {
        let pages = Arc::new(AtomicUsize::new(0));
        let mut reading = JoinSet::new();
        for reader in 0..count {
            let (address, key, pages) = (gateway.address, key.to_owned(), pages.clone());
            // Each starts with another list.
            let paths = paths.to_vec();
            reading.spawn(async move {
                let mut line = None;
                for path in paths.iter().cycle().skip(reader) {
                    let answer = async {
                        let open = match line.take() {
                            Some(open) => open,
                            None => HttpConnection::open(address).await?,
                        };
                        line.insert(open).send("GET", path, &key, b"").await
                    };
                    match answer.await {
                        Ok((200, _)) => drop(pages.fetch_add(1, Relaxed)),
                        // Refused: this tenant uses more than its share.
                        Ok(_) => sleep(READY_EVERY).await,
                        Err(_) => {
                            line = None;
                            sleep(READY_EVERY).await;
                        }
                    }
                }
            });
        }
        Self { pages, _reading: reading }
    }

    /// Returns the number of answered pages.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }
}

/// Calls `/readyz` until it is dropped.
pub struct Readiness {
    failures: Arc<AtomicUsize>,
    _asking: JoinSet<()>,
}

impl Readiness {
    pub fn watch(gateway: &Child) -> Self {
        let failures = Arc::new(AtomicUsize::new(0));
        let (address, failed) = (gateway.address, failures.clone());
        let mut asking = JoinSet::new();
        asking.spawn(async move {
            loop {
                let answer = timeout(READY_WITHIN, async {
                    let mut line = HttpConnection::open(address).await?;
                    line.send("GET", "/readyz", "x-probe: bench", b"").await
                });
                if !matches!(answer.await, Ok(Ok((200, _)))) {
                    failed.fetch_add(1, Relaxed);
                }
                sleep(READY_EVERY).await;
            }
        });
        Self { failures, _asking: asking }
    }

    /// Returns the number of responses other than 200, or that did not arrive in time.
    pub fn failures(&self) -> usize {
        self.failures.load(Relaxed)
    }
}
