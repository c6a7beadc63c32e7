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
    Page, Watch,
    metric::Writer,
    observe::{Dead, Observed},
    process::Process,
    text,
};

/// What one scrape shows.
struct Scrape {
    lanes: Vec<(Lane, Stats, Timing)>,
    observed: Option<Arc<Observed>>,
    answers: Vec<Answers>,
    handler_panics: u64,
    shed: u64,
    connections: u64,
    accept: gancho_engine::Buckets,
    events_accepted: u64,
    held: gancho_engine::room::Size,
    process: Process,
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
            observed,
            answers: meter.answers(),
            handler_panics: meter.panics(),
            shed: meter.shed(),
            connections: meter.connections(),
            accept: self.accept.snapshot(),
            events_accepted: self.events_accepted.load(Ordering::Relaxed),
            held: self.engine.held(),
            process: Process::look(),
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
            queues(observed, &mut to)?;
            dead(&observed.dead, &mut to)?;
            tenants(observed, &mut to)?;
            store(observed, &mut to)?;
        }
        self.api(&mut to)?;
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
        to.counter("dlq_entries", "Deliveries that were given up.", one(|stats| stats.dead))?;
        to.counter(
            "gancho_lease_lost",
            "Results that were refused because another node holds the delivery.",
            one(|stats| stats.lease_lost),
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

fn queues(observed: &Observed, to: &mut Writer<'_>) -> Result<(), Error> {
    let depths = observed.depths.iter().flat_map(|depth| {
        let of = &depth.of;
        [("pending", of.pending), ("leased", of.leased), ("waiting", of.waiting)]
            .map(|(state, count)| (vec![("lane", of.lane.name()), ("state", state)], count as f64))
    });
    to.gauge(
        "gancho_queue_depth",
        "Deliveries in the store: pending (due or to be due), leased (held by nodes), waiting (behind others of their subject).",
        depths,
    )?;
    let ages = observed
        .depths
        .iter()
        .map(|depth| (vec![("lane", depth.of.lane.name())], depth.age.as_secs_f64()));
    to.gauge("gancho_queue_age_seconds", "For how long the oldest pending one has been due.", ages)
}

fn dead(dead: &Dead, to: &mut Writer<'_>) -> Result<(), Error> {
    let sizes = Lane::ALL.into_iter().map(|lane| {
        let count = dead.by_lane.get(&lane).copied().unwrap_or(0);
        (vec![("lane", lane.name())], count as f64)
    });
    to.gauge("dlq_size", "Dead letters in the store.", sizes)?;
    let age = [(vec![], dead.age.as_secs_f64())];
    to.gauge("dlq_age_seconds", "How long ago the oldest dead letter was given up.", age)?;
    let codes =
        dead.by_code.iter().map(|(code, count)| (vec![("code", code.as_str())], *count as f64));
    to.gauge(
        "dlq_by_error_code",
        "Dead letters by why they were given up; the rest as `other`.",
        codes,
    )?;
    let tenants =
        dead.by_tenant.iter().map(|(slug, count)| (vec![("tenant", &**slug)], *count as f64));
    to.gauge(
        "dlq_by_company",
        "Dead letters of the tenants that have most of them; the rest as `other`.",
        tenants,
    )
}

/// The tenants that are busiest, and how they take turns.
fn tenants(observed: &Observed, to: &mut Writer<'_>) -> Result<(), Error> {
    let rows = |pick: fn(&gancho_engine::scheduler::Share) -> f64| {
        observed.shares.iter().flat_map(move |(lane, shares)| {
            shares.iter().map(move |one| {
                (vec![("lane", lane.name()), ("tenant", &*one.slug)], pick(&one.share))
            })
        })
    };
    to.gauge(
        "tenant_jobs_processed",
        "Deliveries taken for a tenant since it last had nothing to do for long.",
        rows(|share| share.processed as f64),
    )?;
    to.gauge(
        "tenant_current_priority",
        "5 for a tenant that was just served, down to 1 for the most urgent.",
        rows(|share| f64::from(share.priority)),
    )?;
    to.gauge(
        "tenant_consecutive_batch",
        "Deliveries of a tenant taken in a row.",
        rows(|share| f64::from(share.consecutive)),
    )?;
    to.gauge(
        "tenant_rounds_without_processing",
        "Turns that others had while a tenant waited for its own.",
        rows(|share| share.rounds_waited as f64),
    )
}

fn store(observed: &Observed, to: &mut Writer<'_>) -> Result<(), Error> {
    let space = observed.space;
    to.gauge(
        "gancho_store_used_bytes",
        "Bytes that the store holds.",
        [(vec![], space.used as f64)],
    )?;
    let limit = space.limit.map(|limit| (vec![], limit as f64));
    to.gauge("gancho_store_limit_bytes", "Bytes at which it takes nothing more.", limit)?;
    to.gauge(
        "gancho_store_observed_age_seconds",
        "How old the figures from the store are.",
        [(vec![], observed.at.elapsed().as_secs_f64())],
    )
}
