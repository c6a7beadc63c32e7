//! The queue of spans, and the loop that sends them to the collector.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::{Attempt, NextStep, Parcel, Time};
use gancho_egress::Client;
use gancho_engine::{SpanCounts, SpanSink};
use gancho_store::Job;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use prost::Message;
use thiserror::Error;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    otlp::{
        ExportTraceServiceRequest, InstrumentationScope, KeyValue, Resource, ResourceSpans,
        ScopeSpans, Span,
    },
    spans,
};

/// Maximum queued spans. Each has some hundred bytes.
const MAX_QUEUED: usize = 8_192;
const MAX_BATCH: usize = 512;
/// How long a batch may wait to become full.
const LINGER: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum attempts to send a batch before it is dropped.
const ATTEMPTS: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Minimum time between two log lines about a collector that is down.
const WARN_EVERY: Duration = Duration::from_secs(60);
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Clone)]
pub struct TraceSettings {
    /// The whole URL, usually with the path `/v1/traces`.
    url: Url,
    headers: HeaderMap,
    /// The name of this node.
    node: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceSettingsError {
    #[error("cannot be extended by a path")]
    Url,
    #[error("write name=value, separated by commas")]
    Headers,
}

impl TraceSettings {
    /// Creates the settings. `endpoint` is the base URL of the collector, and `headers` are `name=value`,
    /// separated by commas.
    pub fn new(
        endpoint: &Url,
        headers: Option<&str>,
        node: &str,
    ) -> Result<Self, TraceSettingsError> {
        let mut url = endpoint.clone();
        url.path_segments_mut()
            .map_err(|()| TraceSettingsError::Url)?
            .pop_if_empty()
            .extend(["v1", "traces"]);
        let mut all = HeaderMap::new();
        for pair in headers.unwrap_or_default().split(',').filter(|pair| !pair.trim().is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(TraceSettingsError::Headers)?;
            let invalid = |_| TraceSettingsError::Headers;
            let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(invalid)?;
            let mut value =
                HeaderValue::from_str(value.trim()).map_err(|_| TraceSettingsError::Headers)?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        all.insert(header::CONTENT_TYPE, protobuf);
        Ok(Self { url, headers: all, node: node.to_owned() })
    }
}

/// Receives spans from the engine. [`TraceExporter::run`] sends them.
pub struct TraceExporter {
    settings: TraceSettings,
    client: Client,
    queue: mpsc::Sender<Span>,
    waiting: tokio::sync::Mutex<mpsc::Receiver<Span>>,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    exported: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// Why a collector did not accept a batch.
enum CollectorError {
    /// It may accept the batch later.
    Later(String),
    Never(String),
}

impl TraceExporter {
    pub fn new(settings: TraceSettings, client: Client) -> Arc<Self> {
        let (queue, waiting) = mpsc::channel(MAX_QUEUED);
        let waiting = tokio::sync::Mutex::new(waiting);
        Arc::new(Self { settings, client, queue, waiting, counters: Counters::default() })
    }

    /// Sends reported spans until it is stopped, then the rest once.
    pub async fn run(&self, stop: CancellationToken) {
        let mut waiting = self.waiting.lock().await;
        let mut warned_at = None;
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                count = waiting.recv_many(&mut batch, MAX_BATCH) => {
                    if count == 0 {
                        return;
                    }
                }
            }
            // A full batch is sent at once; another one waits for more spans.
            let until = Instant::now() + LINGER;
            while batch.len() < MAX_BATCH {
                let room = MAX_BATCH - batch.len();
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    () = tokio::time::sleep_until(until) => break,
                    _ = waiting.recv_many(&mut batch, room) => {}
                }
            }
            self.send(std::mem::take(&mut batch), &stop, &mut warned_at).await;
        }
        self.send_rest(&mut waiting, batch).await;
    }

    /// Sends the rest with one attempt per batch, and stops when the collector does not accept one.
    async fn send_rest(&self, waiting: &mut mpsc::Receiver<Span>, mut batch: Vec<Span>) {
        loop {
            while batch.len() < MAX_BATCH {
                let Ok(span) = waiting.try_recv() else { break };
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            let count = batch.len() as u64;
            let sent = timeout(LINGER, self.post(self.encode(std::mem::take(&mut batch)))).await;
            if !matches!(sent, Ok(Ok(()))) {
                self.counters.failed.fetch_add(count, Ordering::Relaxed);
                return;
            }
            self.counters.exported.fetch_add(count, Ordering::Relaxed);
        }
    }

    async fn send(
        &self,
        batch: Vec<Span>,
        stop: &CancellationToken,
        warned_at: &mut Option<Instant>,
    ) {
        let count = batch.len() as u64;
        let body = self.encode(batch);
        let mut delay = FIRST_DELAY;
        for attempt in 1.. {
            let error = match self.post(body.clone()).await {
                Ok(()) => {
                    self.counters.exported.fetch_add(count, Ordering::Relaxed);
                    return;
                }
                Err(CollectorError::Later(error)) if attempt < ATTEMPTS => {
                    tokio::select! {
                        () = stop.cancelled() => error,
                        () = sleep(delay) => {
                            delay *= 2;
                            continue;
                        }
                    }
                }
                Err(CollectorError::Later(error) | CollectorError::Never(error)) => error,
            };
            self.counters.failed.fetch_add(count, Ordering::Relaxed);
            if warned_at.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
                *warned_at = Some(Instant::now());
                tracing::warn!(error, count, "could not export spans; they were dropped");
            }
            return;
        }
    }

    fn encode(&self, spans: Vec<Span>) -> Bytes {
        let scope = InstrumentationScope { name: "gancho".into(), version: VERSION.into() };
        let resource = Resource {
            attributes: vec![
                KeyValue::text("service.name", "gancho"),
                KeyValue::text("service.version", VERSION),
                KeyValue::text("service.instance.id", self.settings.node.as_str()),
            ],
        };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans }];
        ExportTraceServiceRequest { resource_spans }.encode_to_vec().into()
    }

    async fn post(&self, body: Bytes) -> Result<(), CollectorError> {
        let TraceSettings { url, headers, .. } = &self.settings;
        let outcome = self.client.post(url, headers.clone(), body, TIMEOUT).await;
        match outcome.answer {
            Ok(answer) => match answer.status {
                200..300 => Ok(()),
                // As the protocol requires.
                status @ (429 | 502 | 503 | 504) => {
                    Err(CollectorError::Later(format!("the collector responded {status}")))
                }
                status => Err(CollectorError::Never(format!("the collector responded {status}"))),
            },
            Err(error) if error.for_good => {
                Err(CollectorError::Never(error.failure.reason().to_owned()))
            }
            Err(error) => Err(CollectorError::Later(error.failure.reason().to_owned())),
        }
    }

    fn push(&self, span: impl FnOnce() -> Span) {
        // Without room in the queue the span need not be built.
        match self.queue.try_reserve() {
            Ok(place) => place.send(span()),
            Err(_) => {
                self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl SpanSink for TraceExporter {
    fn accepted(&self, parcel: &Parcel, stored_at: Time) {
        if parcel.accept_span().is_sampled() {
            self.push(|| spans::accepted(parcel, stored_at));
        }
    }

    fn attempted(&self, job: &Job, attempt: &Attempt, next: &NextStep) {
        if job.parcel.accept_span().is_sampled() {
            self.push(|| spans::attempted(job, attempt, next));
        }
    }

    fn counts(&self) -> SpanCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SpanCounts {
            exported: read(&self.counters.exported),
            dropped: read(&self.counters.dropped),
            failed: read(&self.counters.failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_appended_and_headers_are_read() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example/", "https://otel.example/v1/traces"),
            ("https://otel.example/otlp", "https://otel.example/otlp/v1/traces"),
            ("https://otel.example/otlp/", "https://otel.example/otlp/v1/traces"),
        ] {
            let endpoint = endpoint.parse().unwrap();
            let read = TraceSettings::new(&endpoint, Some("x-a=1, Authorization=Bearer k=,"), "n");
            let read = read.unwrap();
            assert_eq!(read.url.as_str(), url);
            assert_eq!(read.headers["authorization"], "Bearer k=");
            assert_eq!(read.headers["x-a"], "1");
            assert!(!format!("{read:?}").contains("Bearer"), "{read:?}");
        }
        let endpoint = "http://127.0.0.1:4318".parse().unwrap();
        for invalid in ["a", "a b=c", "a=b\u{1}c"] {
            let read = TraceSettings::new(&endpoint, Some(invalid), "n");
            assert_eq!(read.unwrap_err(), TraceSettingsError::Headers, "{invalid}");
        }
    }
}
