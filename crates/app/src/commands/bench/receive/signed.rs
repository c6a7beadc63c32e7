//! A partner that signs, and posts from many connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use gancho_domain::{Clock, SystemClock};
use gancho_wire::{Preset, Recipe, SecretEncoding, SigningKey};
use tokio::{task::JoinSet, time::Instant};

use crate::commands::bench::{
    child::Child,
    line::Line,
    sink::{Manner, Sink},
};

#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// Each connection sends when its last webhook was answered.
    Closed,
    /// So many a second, however long the answers take.
    Open(u32),
}

pub struct Signed {
    ingest: SocketAddr,
    sink: Arc<Sink>,
    recipe: Recipe,
    key: SigningKey,
    body: usize,
}

pub const PARTNER: &str = "bench";
const SECRET: &str = "the secret of the benchmark's partner";

impl Signed {
    pub async fn new(gateway: &Child, sink: &Arc<Sink>, body: usize) -> anyhow::Result<Self> {
        gateway.source(PARTNER, SECRET, &sink.url(Manner::Answers)).await?;
        Ok(Self {
            ingest: gateway.ingest,
            sink: sink.clone(),
            recipe: Preset::Partner.recipe()?,
            key: Preset::Partner.hmac_signing_key(SECRET, SecretEncoding::Raw)?,
            body,
        })
    }

    /// How long each took to be answered.
    pub async fn send(
        self: &Arc<Self>,
        first: usize,
        count: usize,
        connections: usize,
        pace: Pace,
    ) -> anyhow::Result<Vec<Duration>> {
        let begin = Instant::now();
        let mut senders = JoinSet::new();
        for sender in 0..connections {
            let signed = self.clone();
            senders.spawn(async move {
                let mut line = Line::open(signed.ingest).await?;
                let mut latencies = Vec::with_capacity(count / connections + 1);
                for turn in (sender..count).step_by(connections) {
                    // Where there is a time for it, being late counts as waiting.
                    let sent = match pace {
                        Pace::Closed => Instant::now(),
                        Pace::Open(rate) => {
                            let due =
                                begin + Duration::from_secs_f64(turn as f64 / f64::from(rate));
                            tokio::time::sleep_until(due).await;
                            due
                        }
                    };
                    signed.post(&mut line, first + turn).await?;
                    latencies.push(sent.elapsed());
                }
                anyhow::Ok(latencies)
            });
        }
        let mut all = Vec::with_capacity(count);
        while let Some(done) = senders.join_next().await {
            all.extend(done??);
        }
        Ok(all)
    }

    async fn post(&self, line: &mut Line, number: usize) -> anyhow::Result<()> {
        let body = webhook(number, self.body);
        let headers = self.recipe.sign(&self.key, "k1", SystemClock.now(), "", body.as_bytes())?;
        let headers: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        self.sink.sent(number);
        let path = format!("/webhooks/{PARTNER}");
        let (status, answer) = line.post(&path, &headers.join("\r\n"), body.as_bytes()).await?;
        ensure!(status == 204, "answered {status}: {}", String::from_utf8_lossy(&answer));
        Ok(())
    }
}

/// Its number comes first, so that the sink finds it at once.
pub fn webhook(number: usize, size: usize) -> String {
    let filler = "x".repeat(size.saturating_sub(60));
    format!(r#"{{"n":{number},"event_id":"bench-{number}","text":"{filler}"}}"#)
}
