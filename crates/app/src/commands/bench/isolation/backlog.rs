//! Many tenants have many events waiting for endpoints that hang. Another tenant publishes a few.

use std::{sync::Arc, time::Duration};

use clap::Args;

use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint, FailureMode},
    limits,
    load::{Load, LoadModel, Route},
    report::{Check, Limit, progress},
};

/// One tenant next to a backlog of others.
///
/// Measures its latency, the memory of the gateway, and whether every dead endpoint gets an attempt.
#[derive(Debug, Clone, Default, Args)]
pub struct Backlog {
    /// Tenants whose endpoint hangs. Default: 200; full 1000.
    #[arg(long)]
    tenants: Option<usize>,
    /// Events waiting for each of them. Default: 250; full 1000.
    #[arg(long)]
    waiting: Option<usize>,
    /// Events per second of the healthy tenant. Default: 200.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that it is measured for, without and with the backlog. Default: 10; full 30.
    #[arg(long)]
    seconds: Option<u64>,
    /// Bytes in an event. Default: 1024.
    #[arg(long)]
    body: Option<usize>,
}

const EVENT_TYPE: &str = "bench.event";
const MAX_MEMORY_MIB: f64 = 300.0;
const TIMEOUT: Duration = Duration::from_secs(20);

impl Backlog {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let tenants = bench.size(self.tenants, 200, 1_000);
        let waiting = bench.size(self.waiting, 250, 1_000);
        let time = Duration::from_secs(bench.size(self.seconds, 10, 30));
        let (rate, body) = (self.rate.unwrap_or(200.0), self.body.unwrap_or(1_024));
        // Each dead endpoint has a listener and, at both ends, some connections.
        limits::ensure_open_files(tenants * 4 + 2_000)?;

        let gateway = bench.start_gateway().await?;
        let arrivals =
            Arc::new(Arrivals::new((rate * time.as_secs_f64()).ceil() as usize * 2 + 100));
        let healthy = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let mut dead = Vec::new();
        for _ in 0..tenants {
            dead.push(Endpoint::dead(FailureMode::Hang).await?);
        }
        let keys = calls::create_tenants(&gateway, "bench", tenants + 1).await?;
        let endpoints = std::iter::once(&healthy).chain(&dead);
        calls::create_webhook_each(&gateway, &keys, endpoints, EVENT_TYPE).await?;
        let mut routes = keys.into_iter().map(|key| Route { key, event_type: EVENT_TYPE.into() });
        let load = Load {
            gateway: gateway.address,
            routes: routes.by_ref().take(1).collect(),
            arrivals: Some(arrivals.clone()),
            body,
            connections: 16,
        };
        let pace = LoadModel::Steady(rate);
        let quiet = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        progress(&format!("backlog: publishing {waiting} events for {tenants} tenants"));
        calls::publish(&gateway, routes.collect(), waiting, calls::BATCH, body).await?;
        let beside = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let memory = gateway.peak_memory();
        let untried = dead.iter().filter(|endpoint| endpoint.requests() == 0).count();
        gateway.kill().await?;

        let (before, after) = (quiet.figures, beside.figures);
        let refused = quiet.published.refused + beside.published.refused;
        let checks = [
            Check::throughput("healthy deliveries/s", before.per_second, after.per_second),
            Check::informational("p50 ms", before.p50_ms, after.p50_ms),
            Check::p99("p99 ms", before.p99_ms, after.p99_ms),
            Check::informational("max ms", before.max_ms, after.max_ms),
            Check::new("healthy events missing", after.missing as f64, Limit::AtMost(0.0)),
            Check::new("healthy events refused", refused as f64, Limit::AtMost(0.0)),
            Check::new("memory of the gateway, MiB", memory as f64, Limit::AtMost(MAX_MEMORY_MIB)),
            Check::new("dead endpoints never tried", untried as f64, Limit::AtMost(0.0)),
        ];
        let title =
            format!("One tenant beside {tenants} whose endpoints hang with {waiting} events each");
        bench.report.checks("backlog", &title, &checks)
    }
}
