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
const PATH: &str = "/webhooks/bench";
const SECRET: &str = "the secret of the benchmark's partner";

/// A webhook as it is to be posted.
struct Ready {
    headers: String,
    body: String,
}

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
        let mut senders = Vec::new();
        for sender in 0..connections {
            let signed = self.clone();
            let turns = (sender..count).step_by(connections);
            // Signing is the partner's own work, and done before anything is measured.
            let ready: Vec<(usize, Ready)> = turns
                .map(|turn| anyhow::Ok((turn, self.prepare(first + turn)?)))
                .collect::<Result<_, _>>()?;
            senders.push((signed, ready));
        }
        let begin = Instant::now();
        let mut running = JoinSet::new();
        for (signed, ready) in senders {
            running.spawn(async move {
                let mut line = Line::open(signed.ingest).await?;
                let mut latencies = Vec::with_capacity(count / connections + 1);
                for (turn, ready) in ready {
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
                    signed.post(&mut line, first + turn, &ready).await?;
                    latencies.push(sent.elapsed());
                }
                anyhow::Ok(latencies)
            });
        }
        let mut all = Vec::with_capacity(count);
        while let Some(done) = running.join_next().await {
            all.extend(done??);
        }
        Ok(all)
    }

    fn prepare(&self, number: usize) -> anyhow::Result<Ready> {
        let body = webhook(number, self.body);
        let headers = self.recipe.sign(&self.key, "k1", SystemClock.now(), "", body.as_bytes())?;
        let headers: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        Ok(Ready { headers: headers.join("\r\n"), body })
    }

    async fn post(&self, line: &mut Line, number: usize, ready: &Ready) -> anyhow::Result<()> {
        self.sink.sent(number);
        let (status, answer) = line.post(PATH, &ready.headers, ready.body.as_bytes()).await?;
        ensure!(status == 204, "answered {status}: {}", String::from_utf8_lossy(&answer));
        Ok(())
    }
}

/// Its number comes first, so that the sink finds it at once. Its id is in no order, as most partners' are.
pub fn webhook(number: usize, size: usize) -> String {
    let filler = "x".repeat(size.saturating_sub(64));
    let id = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!(r#"{{"n":{number},"event_id":"evt_{id:016x}","text":"{filler}"}}"#)
}
