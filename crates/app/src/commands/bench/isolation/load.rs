//! Publishes in a closed loop or at a steady rate.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::{task::JoinSet, time::timeout};

use crate::commands::bench::{http_connection::HttpConnection, report::LatencyDistribution};

use super::arrivals::{Arrivals, Figures};

/// The tenant and the event type to publish.
#[derive(Debug, Clone)]
pub struct Route {
    pub key: String,
    pub event_type: String,
}

#[derive(Clone)]
pub struct Load {
    pub gateway: SocketAddr,
    /// Used in turn.
    pub routes: Arc<[Route]>,
    /// `None` for events whose arrival is not measured.
    pub arrivals: Option<Arc<Arrivals>>,
    /// Bytes in an event.
    pub body: usize,
    pub connections: usize,
}

/// The results of the publish calls.
#[derive(Debug, Default)]
pub struct PublishResults {
    /// How long each took, accepted or not.
    pub latencies: Vec<Duration>,
    /// Calls without a 2xx response.
    pub refused: usize,
}

/// One measurement of healthy traffic.
pub struct Measurement {
    pub figures: Figures,
    pub published: PublishResults,
}

impl Measurement {
    /// Returns the 99th percentile of the publish calls, in milliseconds.
    pub fn publish_p99(&self) -> f64 {
        LatencyDistribution::of(self.published.latencies.clone()).at(990)
    }
}

/// A publish call without a response by then counts as refused.
const TO_ANSWER: Duration = Duration::from_secs(15);
/// A sender that wakes up this much later than planned was delayed only by its own timer.
const TIMER_GRAIN: Duration = Duration::from_millis(2);

/// The number of events whose arrival is not measured.
pub const UNMEASURED: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
pub enum LoadModel {
    /// Each connection sends after the response to its last event.
    Closed,
    /// Events per second in total, independent of the response times.
    Steady(f64),
}

impl Load {
    /// Publishes for that time, then waits for events that have not arrived.
    pub async fn measure(
        &self,
        arrivals: &Arrivals,
        pace: LoadModel,
        time: Duration,
        patience: Duration,
    ) -> anyhow::Result<Measurement> {
        let (first, from) = (arrivals.position(), Instant::now());
        let published = self.run(pace, time).await?;
        let to = Instant::now();
        let numbers = first..arrivals.position();
        arrivals.wait(numbers.clone(), patience).await;
        Ok(Measurement { figures: arrivals.figures(numbers, from, to), published })
    }

    /// Publishes for that time.
    pub async fn run(&self, pace: LoadModel, time: Duration) -> anyhow::Result<PublishResults> {
        let turns = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let mut senders = JoinSet::new();
        for _ in 0..self.connections.max(1) {
            senders.spawn(self.clone().send(pace, start, time, turns.clone()));
        }
        let mut all = PublishResults::default();
        while let Some(sent) = senders.join_next().await {
            let sent = sent??;
            all.latencies.extend(sent.latencies);
            all.refused += sent.refused;
        }
        Ok(all)
    }

    async fn send(
        self,
        pace: LoadModel,
        start: Instant,
        time: Duration,
        turns: Arc<AtomicUsize>,
    ) -> anyhow::Result<PublishResults> {
        let mut published = PublishResults::default();
        let mut line = None;
        while start.elapsed() < time {
            let turn = turns.fetch_add(1, Relaxed);
            let mut at = Instant::now();
            if let LoadModel::Steady(rate) = pace {
                let due = Duration::from_secs_f64(turn as f64 / rate);
                if due >= time {
                    break;
                }
                tokio::time::sleep_until((start + due).into()).await;
                // Being late counts as waiting: the event should have been sent when it was due.
                let is_late = (start + due).elapsed() > TIMER_GRAIN;
                at = if is_late { start + due } else { Instant::now() };
            }
            let number = match &self.arrivals {
                None => UNMEASURED,
                Some(arrivals) => match arrivals.publish(at) {
                    Some(number) => number,
                    None => break,
                },
            };
            let route = &self.routes[turn % self.routes.len()];
            let body = event(&route.event_type, number, self.body);
            let status = self.post(&mut line, &route.key, body.as_bytes()).await;
            published.latencies.push(at.elapsed());
            if !matches!(status, Ok(200..=299)) {
                published.refused += 1;
                self.arrivals.iter().for_each(|arrivals| arrivals.withdraw(number));
            }
            if status.is_err() {
                line = None;
            }
        }
        Ok(published)
    }

    /// Posts on a persistent connection, which is opened again if it was lost.
    async fn post(
        &self,
        line: &mut Option<HttpConnection>,
        key: &str,
        body: &[u8],
    ) -> anyhow::Result<u16> {
        timeout(TO_ANSWER, async {
            let open = match line.take() {
                Some(open) => open,
                None => HttpConnection::open(self.gateway).await?,
            };
            let (status, _) = line.insert(open).post("/v1/events", key, body).await?;
            Ok(status)
        })
        .await?
    }
}

/// Returns an event. Its number comes first, so that an endpoint finds it quickly.
pub fn event(event_type: &str, number: usize, size: usize) -> String {
    event_with(event_type, number, &"x".repeat(size.saturating_sub(30)))
}

pub fn event_with(event_type: &str, number: usize, filler: &str) -> String {
    format!(r#"{{"type":"{event_type}","data":{{"n":{number},"text":"{filler}"}}}}"#)
}
