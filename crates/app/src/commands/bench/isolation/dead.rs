//! Some endpoints are dead. A closed loop publishes to the others as fast as the gateway responds.

mod steps;

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::task::JoinSet;

use self::steps::{Step, name};
use super::{
    Bench,
    arrivals::{Arrivals, Figures},
    calls,
    endpoint::{Behavior, Endpoint, FailureMode},
    limits,
    load::{Load, LoadModel, Route},
    report::{figure, progress},
};
use crate::commands::bench::child::Child;

/// Healthy endpoints next to dead ones.
///
/// A closed loop publishes to the healthy endpoints, and a steady load goes to each dead one. Throughput
/// and latency are compared with those without dead endpoints, which are measured first and last.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub struct Dead {
    /// How the dead endpoints fail. Default: each kind.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<FailureMode>,
    /// How many endpoints are dead, in one step after the other. Default: 8,45; full 1,5,8,10,25,45.
    #[arg(long, value_delimiter = ',')]
    dead: Vec<usize>,
    /// Endpoints in all, each of a tenant of its own. Default: 50.
    #[arg(long)]
    endpoints: Option<usize>,
    /// All endpoints belong to one tenant, each with an event type of its own.
    #[arg(long)]
    same_tenant: bool,
    /// Seconds that each step is measured for. Default: 4; full 8.
    #[arg(long)]
    seconds: Option<u64>,
    /// Connections of the closed loop. Default: 64.
    #[arg(long)]
    connections: Option<usize>,
    /// Events per second to each dead endpoint. Default: 20.
    #[arg(long)]
    dead_rate: Option<f64>,
    /// Events waiting for each dead endpoint when a step begins. Default: 100.
    #[arg(long)]
    waiting: Option<usize>,
    /// Bytes in an event. Default: 1024.
    #[arg(long)]
    body: Option<usize>,
}

/// Time to open connections and fill caches before anything is measured.
const WARM_UP: Duration = Duration::from_secs(1);
/// How long to wait after the load for events that have not arrived.
const TIMEOUT: Duration = Duration::from_secs(8);
/// More events per second than a gateway on one machine accepts.
const MAX_RATE: u64 = 60_000;
const DEAD_CONNECTIONS: usize = 16;

impl Dead {
    /// Puts all endpoints into one tenant. A short run has one kind of dead ones.
    pub fn of_one_tenant(is_full: bool) -> Self {
        let kinds = if is_full { Vec::new() } else { vec![FailureMode::Hang] };
        Self { same_tenant: true, kinds, ..Self::default() }
    }

    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let endpoints = self.endpoints.unwrap_or(50);
        let all: &[usize] = if bench.is_full { &[1, 5, 8, 10, 25, 45] } else { &[8, 45] };
        let counts = if self.dead.is_empty() { all } else { &self.dead };
        let counts: Vec<usize> = counts.iter().copied().filter(|count| *count > 0).collect();
        ensure!(
            counts.iter().all(|count| *count < endpoints),
            "at least one of the {endpoints} endpoints must be healthy"
        );
        // Up to 64 concurrent connections to each endpoint, and some to spare.
        limits::ensure_open_files(endpoints * 70 + 500)?;
        let kinds = if self.kinds.is_empty() { FailureMode::value_variants() } else { &self.kinds };
        for kind in kinds {
            let mut steps = vec![self.step(bench, *kind, 0).await?];
            for dead in &counts {
                steps.push(self.step(bench, *kind, *dead).await?);
            }
            steps.push(self.step(bench, *kind, 0).await?);
            steps::show(&mut bench.report, *kind, self.same_tenant, &steps)?;
        }
        Ok(())
    }

    async fn step(
        &self,
        bench: &mut Bench,
        kind: FailureMode,
        dead: usize,
    ) -> anyhow::Result<Step> {
        let time = Duration::from_secs(bench.size(self.seconds, 4, 8));
        let gateway = bench.start_gateway().await?;
        let seconds = (time + WARM_UP).as_secs();
        let arrivals = Arc::new(Arrivals::new((seconds * MAX_RATE) as usize));
        let mut endpoints = Vec::new();
        for place in 0..self.endpoints.unwrap_or(50) {
            endpoints.push(if place < dead {
                Endpoint::dead(kind).await?
            } else {
                Endpoint::start(Behavior::Record(arrivals.clone()))?
            });
        }
        let routes = self.routes(&gateway, &endpoints).await?;
        let (dead_routes, healthy) = routes.split_at(dead);
        let body = self.body.unwrap_or(1_024);
        let load = Load {
            gateway: gateway.address,
            routes: healthy.into(),
            arrivals: Some(arrivals.clone()),
            body,
            connections: self.connections.unwrap_or(64),
        };
        let mut beside = JoinSet::new();
        let burden_rate = self.dead_rate.unwrap_or(20.0) * dead as f64;
        if dead > 0 {
            let routes: Arc<[Route]> = dead_routes.into();
            let waiting = self.waiting.unwrap_or(100);
            calls::publish(&gateway, routes.clone(), waiting, calls::BATCH, body).await?;
            let connections = DEAD_CONNECTIONS.min(dead);
            let burden = Load { routes, arrivals: None, connections, ..load.clone() };
            let long_enough = time + WARM_UP + TIMEOUT;
            beside.spawn(
                async move { burden.run(LoadModel::Steady(burden_rate), long_enough).await },
            );
        }
        load.run(LoadModel::Closed, WARM_UP).await?;
        let measured = load.measure(&arrivals, LoadModel::Closed, time, TIMEOUT).await?;
        gateway.kill().await?;
        let attempts = endpoints[..dead].iter().map(Endpoint::requests).sum();
        let Figures { per_second, p99_ms, .. } = measured.figures;
        progress(&format!(
            "dead: {dead} {}{}: {} healthy deliveries/s, p99 {} ms",
            name(kind),
            if self.same_tenant { " of the same tenant" } else { "" },
            figure(per_second),
            figure(p99_ms)
        ));
        Ok(Step {
            dead,
            burden_rate,
            figures: measured.figures,
            refused: measured.published.refused,
            attempts,
        })
    }

    /// Creates a route to each endpoint, in order.
    async fn routes(&self, gateway: &Child, endpoints: &[Endpoint]) -> anyhow::Result<Vec<Route>> {
        let count = endpoints.len();
        let keys = if self.same_tenant {
            vec![calls::create_tenants(gateway, "bench", 1).await?.concat(); count]
        } else {
            calls::create_tenants(gateway, "bench", count).await?
        };
        let routes: Vec<Route> = keys
            .into_iter()
            .enumerate()
            .map(|(place, key)| Route { key, event_type: format!("bench.event{place}") })
            .collect();
        let webhooks: Vec<_> = routes
            .iter()
            .zip(endpoints)
            .map(|(route, endpoint)| {
                let body = json!({"url": endpoint.url(), "events": [route.event_type]});
                (route.key.clone(), body)
            })
            .collect();
        calls::create_webhooks(gateway, webhooks).await?;
        Ok(routes)
    }
}
