//! The whole gateway from outside: `gancho serve` in a process of its own, published to over HTTP, with
//! receivers that answer, dawdle or hang.

pub mod load;

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use clap::Args;
use tokio_util::task::TaskTracker;

use self::load::{Load, Pace, Route};
use super::{
    child::Child,
    place,
    report::Spread,
    sink::{Manner, NUMBERED, Sink},
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
const PATIENCE: Duration = Duration::from_secs(20);

impl ServeBench {
    pub async fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.hanging < self.tenants,
            "at least one tenant must have an endpoint that answers"
        );
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let tasks = TaskTracker::new();
        let sink = Sink::start(self.events, NUMBERED, &tasks).await?;
        let gateway = Child::start(&url, folder.path(), &[]).await?;
        let mut routes = Vec::new();
        for number in 0..self.tenants {
            let manner = if number < self.hanging { Manner::Hangs } else { Manner::Answers };
            let slug = format!("bench-{number}");
            routes.push(Route::publish(gateway.tenant(&slug, &sink.url(manner), EVENT).await?));
        }
        let (hanging, healthy) = routes.split_at(self.hanging);
        let load = Load { gateway: gateway.address, sink: sink.clone(), body: self.body, first: 0 };

        if self.rate.is_some() {
            let direct = Load { gateway: sink.address, ..load.clone() };
            let straight = [Route::direct(&sink)];
            direct.run(&straight, self.events.min(2_000), self.connections, self.pace()).await?;
            sink.arrived(self.events.min(2_000), PATIENCE).await?;
            Spread::of(sink.latencies()).report("direct POST", self.json);
            sink.forget();
        }
        self.make_noise(&gateway, &load, &sink).await?;
        self.hang_some(&load, hanging).await?;

        let watch = gateway.watch();
        load.run(healthy, self.events, self.connections, self.pace()).await?;
        sink.arrived(self.events, PATIENCE).await?;
        watch.report("publish to arrival, over HTTP", self.events as u64, self.json);
        Spread::of(sink.latencies()).report("publish to arrival", self.json);
        gateway.stop().await
    }

    fn pace(&self) -> Pace {
        self.rate.map_or(Pace::Closed, Pace::Open)
    }

    /// Fills the queue of the slow endpoint, and goes on while it is being worked off.
    async fn make_noise(
        &self,
        gateway: &Child,
        load: &Load,
        sink: &Arc<Sink>,
    ) -> anyhow::Result<()> {
        if self.noisy == 0 {
            return Ok(());
        }
        let url = sink.url(Manner::Dawdles);
        let noisy = Route::publish(gateway.tenant("bench-noisy", &url, EVENT).await?);
        load.uncounted().run(&[noisy], self.noisy, self.connections, Pace::Closed).await
    }

    /// Each hanging endpoint gets as many events as a healthy one.
    async fn hang_some(&self, load: &Load, hanging: &[Route]) -> anyhow::Result<()> {
        if hanging.is_empty() {
            return Ok(());
        }
        let share = self.events / self.tenants * hanging.len();
        load.uncounted().run(hanging, share, self.connections, Pace::Closed).await
    }
}
