//! Measures the whole gateway from outside: publishes over HTTP to `gancho serve` in a separate process, with
//! receivers that respond, respond slowly or hang.

pub mod load;

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use clap::Args;
use tokio_util::task::TaskTracker;

use self::load::{Load, LoadModel, Route};
use super::{
    child::Child,
    place,
    report::LatencyDistribution,
    sink::{NUMBERED, Sink, SinkBehavior},
};

/// Publish over HTTP to a separate gateway process and wait until everything is delivered. Load and
/// receivers run in this process; CPU figures are those of the gateway.
#[derive(Debug, Args)]
pub struct ServeBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Number of events.
    #[arg(long, default_value_t = 40_000)]
    events: usize,
    /// Number of connections. Each sends its next event after the response to the previous one.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Events per second. Default: as many as the gateway accepts.
    #[arg(long)]
    rate: Option<u32>,
    /// Number of tenants.
    #[arg(long, default_value_t = 50)]
    tenants: usize,
    /// Number of nodes, which share the database and are published to in equal parts. More than one needs PostgreSQL.
    #[arg(long, default_value_t = 1)]
    nodes: usize,
    /// Number of cells: the database, and schemas of it that must not exist yet. More than one needs PostgreSQL.
    #[arg(long, default_value_t = 1)]
    cells: usize,
    /// Number of tenants whose endpoint never responds.
    #[arg(long, default_value_t = 0)]
    hanging: usize,
    /// Number of events that one more tenant has queued to an endpoint that takes a second for each.
    #[arg(long, default_value_t = 0)]
    noisy: usize,
    /// Size of a body in bytes.
    #[arg(long, default_value_t = 1_024)]
    body: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The published event.
const EVENT: &str = "bench.event";
/// Maximum time to wait for the next arrival.
const TIMEOUT: Duration = Duration::from_secs(20);

impl ServeBench {
    pub async fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.hanging < self.tenants,
            "at least one tenant must have an endpoint that answers"
        );
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let is_alone = self.nodes <= 1 && self.cells <= 1;
        ensure!(
            is_alone || !url.starts_with("sqlite:"),
            "several nodes or cells need PostgreSQL: name a database with --database-url"
        );
        let tasks = TaskTracker::new();
        let sink = Sink::start(self.events, NUMBERED, &tasks).await?;
        let gateway = Child::start(&url, folder.path(), &[]).await?;
        for cell in 1..self.cells {
            let mark = if url.contains('?') { '&' } else { '?' };
            let name = format!("bench-{cell}");
            gateway.cell(&name, &format!("{url}{mark}schema=gancho_bench_{cell}")).await?;
        }
        let mut routes = Vec::new();
        for number in 0..self.tenants {
            let manner =
                if number < self.hanging { SinkBehavior::Hangs } else { SinkBehavior::Answers };
            let slug = format!("bench-{number}");
            routes.push(Route::publish(gateway.tenant(&slug, &sink.url(manner), EVENT).await?));
        }
        let (hanging, healthy) = routes.split_at(self.hanging);
        let load = Load { gateway: gateway.address, sink: sink.clone(), body: self.body, first: 0 };

        if self.rate.is_some() {
            let direct = Load { gateway: sink.address, ..load.clone() };
            let straight = [Route::direct(&sink)];
            direct.run(&straight, self.events.min(2_000), self.connections, self.pace()).await?;
            sink.arrived(self.events.min(2_000), TIMEOUT).await?;
            LatencyDistribution::of(sink.latencies()).report("direct POST", self.json);
            sink.forget();
        }
        self.make_noise(&gateway, &load, &sink).await?;
        self.hang_some(&load, hanging).await?;

        let mut nodes = vec![gateway];
        while nodes.len() < self.nodes {
            nodes.push(Child::start(&url, folder.path(), &[]).await?);
        }
        let watch = Child::watch_all(&nodes);
        self.publish(&nodes, &load, healthy).await?;
        sink.arrived(self.events, TIMEOUT).await?;
        watch.report("publish to arrival, over HTTP", self.events as u64, self.json);
        if !self.json && !url.starts_with("sqlite:") {
            watch.report_servers(self.events as u64);
        }
        LatencyDistribution::of(sink.latencies()).report("publish to arrival", self.json);
        for node in nodes {
            node.stop().await?;
        }
        Ok(())
    }

    /// Publishes an equal part to each node, concurrently.
    async fn publish(&self, nodes: &[Child], load: &Load, routes: &[Route]) -> anyhow::Result<()> {
        let share = |total: usize, place: usize| {
            total * (place + 1) / nodes.len() - total * place / nodes.len()
        };
        let parts = nodes.iter().enumerate().map(|(place, node)| {
            let first = self.events * place / nodes.len();
            let load = Load { gateway: node.address, first, ..load.clone() };
            let (events, lines) = (share(self.events, place), share(self.connections, place));
            let pace = match self.pace() {
                LoadModel::Open(rate) => LoadModel::Open((rate / nodes.len() as u32).max(1)),
                LoadModel::Closed => LoadModel::Closed,
            };
            async move { load.run(routes, events, lines.max(1), pace).await }
        });
        futures_util::future::try_join_all(parts).await.map(|_| ())
    }

    fn pace(&self) -> LoadModel {
        self.rate.map_or(LoadModel::Closed, LoadModel::Open)
    }

    /// Fills the queue of the slow endpoint, and keeps it full.
    async fn make_noise(
        &self,
        gateway: &Child,
        load: &Load,
        sink: &Arc<Sink>,
    ) -> anyhow::Result<()> {
        if self.noisy == 0 {
            return Ok(());
        }
        let url = sink.url(SinkBehavior::Dawdles);
        let noisy = Route::publish(gateway.tenant("bench-noisy", &url, EVENT).await?);
        load.uncounted().run(&[noisy], self.noisy, self.connections, LoadModel::Closed).await
    }

    /// Gives each hanging endpoint as many events as a healthy one.
    async fn hang_some(&self, load: &Load, hanging: &[Route]) -> anyhow::Result<()> {
        if hanging.is_empty() {
            return Ok(());
        }
        let share = self.events / self.tenants * hanging.len();
        load.uncounted().run(hanging, share, self.connections, LoadModel::Closed).await
    }
}
