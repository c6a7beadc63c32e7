//! Encodes all metrics.

use std::{
    fmt::Error,
    sync::{Arc, atomic::Ordering},
};

use gancho_domain::Lane;
use gancho_engine::{Stats, Timing};
use http::StatusCode;
use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, encoding::text::encode, registry::Registry,
};

use crate::meter::{Answers, Meter};

use super::{
    Page, Watch, inbound_metrics::InboundMetrics, metric::Writer, observe::StoreSnapshot,
    process::Process, store_metrics, text_format,
};

/// The figures of one scrape.
struct Scrape {
    lanes: Vec<(Lane, Stats, Timing)>,
    archived: [(Lane, u64); Lane::ALL.len()],
    snapshot: Option<Arc<StoreSnapshot>>,
    answers: Vec<Answers>,
    handler_panics: u64,
    failed_logins: u64,
    unrecorded_acts: u64,
    shed: u64,
    connections: u64,
    accept: gancho_engine::Buckets,
    events_accepted: u64,
    held: gancho_engine::room::Size,
    process: Process,
    inbound: Option<InboundMetrics>,
}

impl Watch {
    /// `accept` is the `Accept` header: OpenMetrics for clients that ask for it, the older text format for
    /// all others.
    pub async fn metrics(self: &Arc<Self>, meter: &Meter, accept: Option<&str>) -> Page {
        let snapshot = self.snapshot().await;
        let lanes = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some((lane, self.engine.stats(lane)?, self.engine.timing(lane)?)));
        let scrape = Scrape {
            lanes: lanes.collect(),
            archived: Lane::ALL.map(|lane| (lane, self.engine.archived(lane))),
            snapshot,
            answers: meter.answers(),
            handler_panics: meter.panics(),
            failed_logins: meter.failed_logins(),
            unrecorded_acts: meter.unrecorded_acts(),
            shed: meter.shed(),
            connections: meter.connections(),
            accept: self.accept.snapshot(),
            events_accepted: self.events_accepted.load(Ordering::Relaxed),
            held: self.engine.held(),
            process: Process::read(),
            inbound: self.inbound.as_deref().map(InboundMetrics::read),
        };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(scrape));
        let mut body = String::with_capacity(16 << 10);
        if encode(&mut body, &registry).is_err() {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return Page { status, content_type: text_format::PLAIN, body: String::new() };
        }
        let (content_type, body) = text_format::convert(body, accept);
        Page { status: StatusCode::OK, content_type, body }
    }
}

impl std::fmt::Debug for Scrape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut to = Writer::new(encoder);
        self.deliveries(&mut to)?;
        if let Some(snapshot) = &self.snapshot {
            store_metrics::encode(snapshot, &mut to)?;
        }
        self.api(&mut to)?;
        if let Some(inbound) = &self.inbound {
            inbound.encode(&mut to)?;
        }
        self.process(&mut to)
    }
}

impl Scrape {
    fn deliveries(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let lanes = &self.lanes;
        let outcomes = lanes.iter().flat_map(|(lane, stats, _)| {
            [("delivered", stats.delivered), ("retried", stats.retried), ("dead", stats.dead)]
                .map(|(outcome, count)| (vec![("lane", lane.name()), ("outcome", outcome)], count))
        });
        to.counter(
            "gancho_deliveries",
            "Attempts by outcome: delivered, retried or dead (failed permanently).",
            outcomes,
        )?;
        let one = |pick: fn(&Stats) -> u64| {
            lanes.iter().map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats)))
        };
        to.counter("gancho_attempts", "Delivery attempts.", one(|stats| stats.carried))?;
        to.counter(
            "gancho_deferred",
            "Deliveries deferred because this node lacked a resource, e.g. file handles.",
            one(|stats| stats.deferred),
        )?;
        to.counter("dlq_entries", "Deliveries that became dead letters.", one(|stats| stats.dead))?;
        let archived =
            self.archived.iter().map(|(lane, count)| (vec![("lane", lane.name())], *count));
        to.counter("gancho_archived", "Dead letters moved to the archive.", archived)?;
        to.counter(
            "gancho_lease_lost",
            "Results discarded because another node holds the lease.",
            one(|stats| stats.lease_lost),
        )?;
        to.counter(
            "gancho_unstorable_results",
            "Results that the store rejected and that were stored without details.",
            one(|stats| stats.unstorable),
        )?;
        to.counter("gancho_panics", "Panics in carriers.", one(|stats| stats.panics))?;
        let now = |pick: fn(&Stats) -> u64| {
            lanes
                .iter()
                .map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats) as f64))
        };
        to.gauge("gancho_in_flight", "Deliveries in flight.", now(|stats| stats.in_flight))?;
        to.gauge("gancho_queued", "Deliveries queued in memory.", now(|stats| stats.queued))?;
        self.retries(to)?;
        let time = |pick: fn(&Timing) -> &gancho_engine::Buckets| {
            lanes
                .iter()
                .map(move |(lane, _, timing)| (vec![("lane", lane.name())], pick(timing).clone()))
        };
        to.histogram(
            "retry_backoff_delay_seconds",
            "Scheduled delay before the next attempt.",
            time(|timing| &timing.backoff),
        )?;
        to.histogram(
            "gancho_time_to_first_attempt_seconds",
            "Time from acceptance to the first attempt, including a requested delay.",
            time(|timing| &timing.to_first_attempt),
        )?;
        to.histogram(
            "gancho_endpoint_response_seconds",
            "Duration of an attempt, whatever its outcome.",
            time(|timing| &timing.attempt),
        )
    }

    /// By attempt number; the last one includes all further attempts.
    fn retries(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let numbers: Vec<String> = (2..)
            .take(gancho_engine::timings::LAST_ATTEMPT - 1)
            .map(|number: u32| number.to_string())
            .chain(["more".to_owned()])
            .collect();
        let rows = self.lanes.iter().flat_map(|(lane, _, timing)| {
            let numbered = numbers.iter().zip(&timing.retries);
            numbered.map(|(number, count)| {
                (vec![("lane", lane.name()), ("attempt", number.as_str())], *count)
            })
        });
        to.counter("retry_attempts", "Attempts after the first, by attempt number.", rows)
    }

    fn api(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        to.counter(
            "gancho_events_accepted",
            "Events accepted and durably stored.",
            [(vec![], self.events_accepted)],
        )?;
        to.histogram(
            "gancho_accept_seconds",
            "Time from a publish request to its events being durably stored.",
            [(vec![], self.accept.clone())],
        )?;
        let counts = self.answers.iter().map(|seen| {
            let labels = [("route", seen.path), ("method", seen.method), ("status", seen.class)];
            (labels.to_vec(), seen.count)
        });
        to.counter(
            "gancho_http_requests",
            "API requests by route, method and status class.",
            counts,
        )?;
        let broken = [(vec![], self.handler_panics)];
        to.counter("gancho_http_panics", "Panics in request handlers.", broken)?;
        let failed = [(vec![], self.failed_logins)];
        to.counter(
            "gancho_auth_failures",
            "Authentication failures: invalid API keys, operator tokens, portal tokens and passwords.",
            failed,
        )?;
        let unrecorded = [(vec![], self.unrecorded_acts)];
        to.counter(
            "gancho_audit_unrecorded",
            "Acts that the audit log does not contain, because one caller made too many.",
            unrecorded,
        )?;
        let shed = [(vec![], self.shed)];
        to.counter("gancho_http_shed", "Connections refused because too many were open.", shed)?;
        let open = [(vec![], self.connections as f64)];
        to.gauge("gancho_http_connections", "Open connections.", open)
    }

    fn process(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let plain = |value: Option<f64>| value.map(|value| (vec![], value));
        let process = &self.process;
        to.gauge(
            "gancho_held_deliveries",
            "Deliveries in memory: queued, in flight or being settled.",
            [(vec![], self.held.jobs as f64)],
        )?;
        to.gauge(
            "gancho_held_bytes",
            "Size of the bodies of the deliveries in memory.",
            [(vec![], self.held.bytes as f64)],
        )?;
        to.gauge(
            "process_resident_memory_bytes",
            "Resident memory size.",
            plain(process.resident_bytes.map(|bytes| bytes as f64)),
        )?;
        to.seconds("process_cpu_seconds", "User and system CPU time.", process.cpu_seconds)?;
        to.gauge(
            "process_open_fds",
            "Open file descriptors.",
            plain(process.open_files.map(|count| count as f64)),
        )?;
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        to.gauge("gancho_build_info", "Version of the running binary.", [(version, 1.0)])
    }
}
