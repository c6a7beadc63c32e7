//! List calls, one by one and many at once, and whether the gateway says that it is ready meanwhile.

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

use crate::commands::bench::{child::Child, line::Line};

/// A page that takes longer is not waited for.
const TO_ANSWER: Duration = Duration::from_secs(60);
const ROUNDS: usize = 3;
const READY_EVERY: Duration = Duration::from_millis(100);
/// A supervisor gives up by then.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// The longest of a few calls.
pub async fn time_page(gateway: &Child, key: &str, path: &str) -> anyhow::Result<Duration> {
    let mut line = Line::open(gateway.address).await?;
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

/// They read until this is dropped.
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
            // Each begins with another list.
            let paths = paths.to_vec();
            reading.spawn(async move {
                let mut line = None;
                for path in paths.iter().cycle().skip(reader) {
                    let answer = async {
                        let open = match line.take() {
                            Some(open) => open,
                            None => Line::open(address).await?,
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

    /// Pages that were answered.
    pub fn pages(&self) -> usize {
        self.pages.load(Relaxed)
    }
}

/// Asks `/readyz` until it is dropped.
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
                    let mut line = Line::open(address).await?;
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

    /// Answers other than 200, or none in time.
    pub fn failures(&self) -> usize {
        self.failures.load(Relaxed)
    }
}
