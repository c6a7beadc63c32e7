//! Everything that is known, as metrics.

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
    Page, Watch, metric::Writer, observe::Observed, of_store, process::Process, received::Received,
    text,
};

/// What one scrape shows.
struct Scrape {
    lanes: Vec<(Lane, Stats, Timing)>,
    archived: [(Lane, u64); Lane::ALL.len()],
    observed: Option<Arc<Observed>>,
    answers: Vec<Answers>,
    handler_panics: u64,
    failed_logins: u64,
    shed: u64,
    connections: u64,
    accept: gancho_engine::Buckets,
    events_accepted: u64,
    held: gancho_engine::room::Size,
    process: Process,
    received: Option<Received>,
}

impl Watch {
    /// `accept` is the header of that name: the newer form for those who ask for it, the older one for
    /// all others.
    pub async fn metrics(self: &Arc<Self>, meter: &Meter, accept: Option<&str>) -> Page {
        let observed = self.observed().await;
        let lanes = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some((lane, self.engine.stats(lane)?, self.engine.timing(lane)?)));
        let scrape = Scrape {
            lanes: lanes.collect(),
            archived: Lane::ALL.map(|lane| (lane, self.engine.archived(lane))),
            observed,
            answers: meter.answers(),
            handler_panics: meter.panics(),
            failed_logins: meter.failed_logins(),
            shed: meter.shed(),
            connections: meter.connections(),
            accept: self.accept.snapshot(),
            events_accepted: self.events_accepted.load(Ordering::Relaxed),
            held: self.engine.held(),
            process: Process::look(),
            received: self.inbound.as_deref().map(Received::look),
        };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(scrape));
        let mut body = String::with_capacity(16 << 10);
        if encode(&mut body, &registry).is_err() {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return Page { status, content_type: text::PLAIN, body: String::new() };
        }
        let (content_type, body) = text::in_form(body, accept);
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
        if let Some(observed) = &self.observed {
            of_store::encode(observed, &mut to)?;
        }
        self.api(&mut to)?;
        if let Some(received) = &self.received {
            received.encode(&mut to)?;
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
            "Attempts by what followed: delivered, to be tried again, or given up.",
            outcomes,
        )?;
        let one = |pick: fn(&Stats) -> u64| {
            lanes.iter().map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats)))
        };
        to.counter("gancho_attempts", "Attempts made.", one(|stats| stats.carried))?;
        to.counter(
            "gancho_deferred",
            "Deliveries put off because this node lacked something, such as a file handle.",
            one(|stats| stats.deferred),
        )?;
        to.counter("dlq_entries", "Deliveries that were given up.", one(|stats| stats.dead))?;
        let archived =
            self.archived.iter().map(|(lane, count)| (vec![("lane", lane.name())], *count));
        to.counter("gancho_archived", "Dead letters brought to the archive.", archived)?;
        to.counter(
            "gancho_lease_lost",
            "Results that were refused because another node holds the delivery.",
            one(|stats| stats.lease_lost),
        )?;
        to.counter(
            "gancho_unstorable_results",
            "Results that the store cannot hold, and that were written without their details.",
            one(|stats| stats.unstorable),
        )?;
        to.counter("gancho_panics", "Carriers that broke.", one(|stats| stats.panics))?;
        let now = |pick: fn(&Stats) -> u64| {
            lanes
                .iter()
                .map(move |(lane, stats, _)| (vec![("lane", lane.name())], pick(stats) as f64))
        };
        to.gauge("gancho_in_flight", "Deliveries on the wire now.", now(|stats| stats.in_flight))?;
        to.gauge("gancho_queued", "Deliveries waiting in memory now.", now(|stats| stats.queued))?;
        self.retries(to)?;
        let time = |pick: fn(&Timing) -> &gancho_engine::Buckets| {
            lanes
                .iter()
                .map(move |(lane, _, timing)| (vec![("lane", lane.name())], pick(timing).clone()))
        };
        to.histogram(
            "retry_backoff_delay_seconds",
            "How long the plan says to wait before the next attempt.",
            time(|timing| &timing.backoff),
        )?;
        to.histogram(
            "gancho_time_to_first_attempt_seconds",
            "From being accepted to the first attempt, a delay that was asked for included.",
            time(|timing| &timing.to_first_attempt),
        )?;
        to.histogram(
            "gancho_endpoint_response_seconds",
            "How long one attempt took, whatever came of it.",
            time(|timing| &timing.attempt),
        )
    }

    /// By the number of the attempt; the last stands for all beyond it.
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
        to.counter("retry_attempts", "Attempts after the first, by their number.", rows)
    }

    fn api(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        to.counter(
            "gancho_events_accepted",
            "Events that are on stable storage.",
            [(vec![], self.events_accepted)],
        )?;
        to.histogram(
            "gancho_accept_seconds",
            "From a publish call to its events being on stable storage.",
            [(vec![], self.accept.clone())],
        )?;
        let counts = self.answers.iter().map(|seen| {
            let labels = [("route", seen.path), ("method", seen.method), ("status", seen.class)];
            (labels.to_vec(), seen.count)
        });
        to.counter("gancho_http_requests", "Requests to the API, by kind of answer.", counts)?;
        let broken = [(vec![], self.handler_panics)];
        to.counter("gancho_http_panics", "Requests whose handling broke.", broken)?;
        let failed = [(vec![], self.failed_logins)];
        to.counter("gancho_auth_failures", "Wrong API keys and operator tokens.", failed)?;
        let shed = [(vec![], self.shed)];
        to.counter("gancho_http_shed", "Connections turned away: there were too many.", shed)?;
        let open = [(vec![], self.connections as f64)];
        to.gauge("gancho_http_connections", "Connections that are open now.", open)
    }

    fn process(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        let plain = |value: Option<f64>| value.map(|value| (vec![], value));
        let process = &self.process;
        to.gauge(
            "gancho_held_deliveries",
            "Deliveries in memory: waiting, on the wire or being settled.",
            [(vec![], self.held.jobs as f64)],
        )?;
        to.gauge(
            "gancho_held_bytes",
            "Bytes of their bodies.",
            [(vec![], self.held.bytes as f64)],
        )?;
        to.gauge(
            "process_resident_memory_bytes",
            "Memory of this process.",
            plain(process.resident_bytes.map(|bytes| bytes as f64)),
        )?;
        to.seconds("process_cpu_seconds", "CPU time of this process.", process.cpu_seconds)?;
        to.gauge(
            "process_open_fds",
            "Files and sockets of this process.",
            plain(process.open_files.map(|count| count as f64)),
        )?;
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        to.gauge("gancho_build_info", "The version that runs.", [(version, 1.0)])
    }
}
