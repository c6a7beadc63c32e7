//! Encodes all metrics.

use std::{
    fmt::Error,
    sync::{Arc, atomic::Ordering},
};

use gancho_engine::{RefusedCounts, SpanCounts};
use http::StatusCode;
use prometheus_client::{
    collector::Collector, encoding::DescriptorEncoder, encoding::text::encode, registry::Registry,
};

use crate::meter::{Meter, ResponseCount};

use super::{
    Page, Watch, delivery_metrics::DeliveryMetrics, disk::Disk, inbound_metrics::InboundMetrics,
    metric::Writer, observe::StoreSnapshot, process::Process, store_metrics, text_format,
};

/// The figures of one scrape.
struct Scrape {
    deliveries: DeliveryMetrics,
    snapshot: Option<Arc<StoreSnapshot>>,
    answers: Vec<ResponseCount>,
    handler_panics: u64,
    failed_logins: u64,
    unrecorded_acts: u64,
    shed: u64,
    connections: u64,
    accept: gancho_engine::Buckets,
    events_accepted: u64,
    refused: RefusedCounts,
    lost_nodes: u64,
    spans: Option<SpanCounts>,
    disk: Option<Disk>,
    held: gancho_engine::room::Size,
    process: Process,
    inbound: Option<InboundMetrics>,
}

impl Watch {
    /// Returns the metrics. `accept` is the `Accept` header: OpenMetrics for clients that ask for it, the
    /// older text format for all others.
    pub async fn metrics(self: &Arc<Self>, meter: &Meter, accept: Option<&str>) -> Page {
        let snapshot = self.snapshot().await;
        let scrape = Scrape {
            deliveries: self.delivery_metrics(),
            snapshot,
            answers: meter.answers(),
            handler_panics: meter.panics(),
            failed_logins: meter.failed_logins(),
            unrecorded_acts: meter.unrecorded_acts(),
            shed: meter.shed(),
            connections: meter.connections(),
            accept: self.accept.snapshot(),
            events_accepted: self.events_accepted.load(Ordering::Relaxed),
            refused: self.engine.refused_writes(),
            lost_nodes: self.engine.lost_nodes(),
            spans: self.engine.span_counts(),
            disk: self.data_dir.as_deref().and_then(Disk::read),
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
        self.deliveries.encode(&mut to)?;
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
    fn api(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        to.counter(
            "gancho_events_accepted",
            "Events accepted and durably stored.",
            [(vec![], self.events_accepted)],
        )?;
        let refused = [
            ("storage_full", self.refused.full),
            ("unavailable", self.refused.unavailable),
            ("busy", self.refused.busy),
        ]
        .map(|(reason, count)| (vec![("reason", reason)], count));
        to.counter(
            "gancho_refused_writes",
            "Events, webhooks and e-mails that were not accepted because the store refused them.",
            refused,
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
        to.counter(
            "gancho_lost_nodes",
            "Other nodes that this node declared dead.",
            [(vec![], self.lost_nodes)],
        )?;
        if let Some(spans) = self.spans {
            let outcomes = [
                ("exported", spans.exported),
                ("queue_full", spans.dropped),
                ("refused", spans.failed),
            ];
            to.counter(
                "gancho_spans",
                "Spans of traces: exported, dropped because too many were waiting, and dropped because the collector did not take them.",
                outcomes.map(|(outcome, count)| (vec![("outcome", outcome)], count)),
            )?;
        }
        let disk =
            |pick: fn(&Disk) -> u64| self.disk.as_ref().map(|disk| (vec![], pick(disk) as f64));
        to.gauge(
            "gancho_disk_free_bytes",
            "Free space on the disk of the data directory.",
            disk(|disk| disk.free),
        )?;
        to.gauge(
            "gancho_disk_size_bytes",
            "Size of the disk of the data directory.",
            disk(|disk| disk.size),
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
