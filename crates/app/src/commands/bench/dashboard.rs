//! Measures the dashboard with a large store: how long each page takes, and how open live pages affect
//! deliveries.

mod client;
mod live;
mod pages;
mod seed;

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use tokio_util::task::TaskTracker;

use self::{client::Browser, seed::Seed};
use super::{
    child::Child,
    isolation::calls,
    place,
    serve::load::{Load, LoadModel, Route},
    sink::{NUMBERED, Sink, SinkBehavior},
};

/// Measure the pages of the dashboard with a large store, and what open live pages cost.
///
/// Fills a store directly, then starts a gateway on it and reads every page a few times. Then it delivers events, without
/// and with open dashboards that show a live list, in turns.
#[derive(Debug, Args)]
pub struct DashboardBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Deliveries in the store.
    #[arg(long, default_value_t = 1_000_000)]
    deliveries: usize,
    /// Number of endpoints.
    #[arg(long, default_value_t = 1_000)]
    endpoints: usize,
    /// Number of tenants.
    #[arg(long, default_value_t = 100)]
    tenants: usize,
    /// Open dashboards with a live list of deliveries.
    #[arg(long, default_value_t = 50)]
    dashboards: usize,
    /// Events per second while they are open.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
    /// Seconds of each turn.
    #[arg(long, default_value_t = 10)]
    seconds: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The event type that the tenants of the live part subscribe to.
const EVENT: &str = "bench.event";
const LIVE_TENANTS: usize = 20;

impl DashboardBench {
    pub async fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.tenants > 0 && self.endpoints >= self.tenants,
            "each tenant needs an endpoint"
        );
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let tasks = TaskTracker::new();
        let events = self.rate as usize * self.seconds;
        let sink = Sink::start(events, NUMBERED, &tasks).await?;

        let gateway = Child::start(&url, folder.path(), &[]).await?;
        let keys = calls::create_tenants(&gateway, "seed", self.tenants).await?;
        let (receiver, count) = (sink.url(SinkBehavior::Answers), self.endpoints);
        let webhooks = (0..count).map(move |number| {
            let body = json!({"url": format!("{receiver}?{number}"), "events": ["seed.event"]});
            (keys[number % keys.len()].clone(), body)
        });
        calls::create_webhooks(&gateway, webhooks).await?;
        let mut routes = Vec::new();
        for number in 0..LIVE_TENANTS {
            let (slug, url) = (format!("live-{number}"), sink.url(SinkBehavior::Answers));
            routes.push(Route::publish(gateway.tenant(&slug, &url, EVENT).await?));
        }
        gateway.stop().await?;

        let seed = Seed::fill(&url, self.deliveries).await?;
        let gateway = Child::start(&url, folder.path(), &[]).await?;
        let browser = Browser::sign_in(gateway.address).await?;
        pages::measure(&browser, &seed, self.json).await?;

        let load = Load { gateway: gateway.address, sink: sink.clone(), body: 512, first: 0 };
        let live = live::LiveCost {
            gateway: &gateway,
            browser: &browser,
            load: &load,
            routes: &routes,
            events,
            pace: LoadModel::Open(self.rate),
        };
        live.measure(self.dashboards, self.json).await?;
        gateway.stop().await
    }
}
