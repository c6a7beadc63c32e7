//! A partner that signs and posts from many connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use gancho_domain::{Clock, SystemClock};
use gancho_wire::{Preset, Recipe, SecretEncoding, SigningKey};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::commands::bench::{
    child::Child,
    http_connection::HttpConnection,
    sink::{Sink, SinkBehavior},
};

#[derive(Debug, Clone, Copy)]
pub enum LoadModel {
    /// Each connection sends after the response to its last webhook.
    Closed,
    /// This many per second, independent of the response times.
    Open(u32),
}

/// The results of a run's webhooks.
#[derive(Debug, Default)]
pub struct SendResults {
    /// The duration of each, whatever the response.
    pub latencies: Vec<Duration>,
    /// Webhooks with another response than 204, or without one.
    pub refused: usize,
    /// The first of these responses.
    pub refusal: Option<String>,
}

/// A webhook without a response by then counts as refused.
const TO_ANSWER: Duration = Duration::from_secs(15);

pub struct SignedLoad {
    ingest: SocketAddr,
    sink: Arc<Sink>,
    recipe: Recipe,
    key: SigningKey,
    body: usize,
    /// Webhooks on one connection before it is opened again.
    pub per_connection: usize,
}

pub const PARTNER: &str = "bench";
const PATH: &str = "/webhooks/bench";
const SECRET: &str = "the secret of the benchmark's partner";

/// A prepared webhook.
#[derive(Clone)]
struct PreparedRequest {
    headers: String,
    body: String,
}

impl SignedLoad {
    pub async fn new(gateway: &Child, sink: &Arc<Sink>, body: usize) -> anyhow::Result<Self> {
        gateway.source(PARTNER, SECRET, &sink.url(SinkBehavior::Answers)).await?;
        Ok(Self {
            ingest: gateway.ingest,
            sink: sink.clone(),
            recipe: Preset::Partner.recipe()?,
            key: Preset::Partner.hmac_signing_key(SECRET, SecretEncoding::Raw)?,
            body,
            per_connection: usize::MAX,
        })
    }

    /// Posts webhooks, starting with that number.
    pub async fn send(
        self: &Arc<Self>,
        first: usize,
        count: usize,
        connections: usize,
        pace: LoadModel,
    ) -> anyhow::Result<SendResults> {
        // Signing is the partner's own work, and done before the measurement.
        let mut senders = vec![Vec::new(); connections.max(1)];
        for turn in 0..count {
            senders[turn % connections.max(1)].push((turn, self.prepare(first + turn)?));
        }
        let start = Instant::now();
        let mut running = JoinSet::new();
        for webhooks in senders {
            running.spawn(self.clone().send_each(first, webhooks, start, pace));
        }
        let mut all =
            SendResults { latencies: Vec::with_capacity(count), ..SendResults::default() };
        while let Some(sent) = running.join_next().await {
            let sent = sent?;
            all.latencies.extend(sent.latencies);
            all.refused += sent.refused;
            all.refusal = all.refusal.or(sent.refusal);
        }
        Ok(all)
    }

    /// Posts one after the other, on one connection at a time.
    async fn send_each(
        self: Arc<Self>,
        first: usize,
        webhooks: Vec<(usize, PreparedRequest)>,
        start: Instant,
        pace: LoadModel,
    ) -> SendResults {
        let mut sent = SendResults::default();
        let mut line = None;
        let late = match pace {
            LoadModel::Closed => Duration::MAX,
            // A gateway that is too slow for this rate must not make the run endless.
            LoadModel::Open(_) => TO_ANSWER,
        };
        for (place, (turn, ready)) in webhooks.iter().enumerate() {
            // If it was due at a time, being late counts as waiting.
            let at = match pace {
                LoadModel::Closed => Instant::now(),
                LoadModel::Open(rate) => {
                    let due = start + Duration::from_secs_f64(*turn as f64 / f64::from(rate));
                    tokio::time::sleep_until(due).await;
                    due
                }
            };
            if place.is_multiple_of(self.per_connection) {
                line = None;
            }
            if at.elapsed() > late {
                sent.refused += 1;
                sent.latencies.push(at.elapsed());
                continue;
            }
            let posted = timeout(TO_ANSWER, self.post(&mut line, first + turn, ready)).await;
            sent.latencies.push(at.elapsed());
            if let Err(error) = posted.map_err(anyhow::Error::from).flatten() {
                sent.refused += 1;
                sent.refusal.get_or_insert_with(|| format!("{error:#}"));
                // A late response must not be taken for that of the next webhook.
                line = None;
            }
        }
        sent
    }

    fn prepare(&self, number: usize) -> anyhow::Result<PreparedRequest> {
        let body = webhook(number, self.body);
        let headers = self.recipe.sign(&self.key, "k1", SystemClock.now(), "", body.as_bytes())?;
        let headers: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        Ok(PreparedRequest { headers: headers.join("\r\n"), body })
    }

    async fn post(
        &self,
        line: &mut Option<HttpConnection>,
        number: usize,
        ready: &PreparedRequest,
    ) -> anyhow::Result<()> {
        let open = match line.take() {
            Some(open) => open,
            None => HttpConnection::open(self.ingest).await?,
        };
        self.sink.sent(number);
        let line = line.insert(open);
        let (status, answer) = line.post(PATH, &ready.headers, ready.body.as_bytes()).await?;
        ensure!(status == 204, "answered {status}: {}", String::from_utf8_lossy(&answer));
        Ok(())
    }
}

/// Returns a webhook. Its number comes first, so that the sink finds it quickly. Its id is random, as most
/// partners' are.
pub fn webhook(number: usize, size: usize) -> String {
    let filler = "x".repeat(size.saturating_sub(64));
    let id = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    format!(r#"{{"n":{number},"event_id":"evt_{id:016x}","text":"{filler}"}}"#)
}
