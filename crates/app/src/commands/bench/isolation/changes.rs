//! One tenant has very many endpoints, and changes one before each event. Other tenants have one each.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use clap::Args;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint},
    limits,
    load::{Load, LoadModel, Route, UNMEASURED, event},
    report::{Check, Limit},
};
use crate::commands::bench::http_connection::HttpConnection;

/// Tenants next to one that has very many endpoints and changes them all the time.
///
/// How long their publish calls and their deliveries take, alone and next to it.
#[derive(Debug, Clone, Default, Args)]
pub struct Changes {
    /// Endpoints of the one tenant. Default: 2000; full 10000.
    #[arg(long)]
    endpoints: Option<usize>,
    /// Connections on which it changes an endpoint and publishes an event, in turn. Default: 16.
    #[arg(long)]
    connections: Option<usize>,
    /// Events per second in all of the tenants that are measured. Default: 100.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that they are measured for, without and with the changes. Default: 6; full 15.
    #[arg(long)]
    seconds: Option<u64>,
}

const EVENT_TYPE: &str = "bench.event";
/// An event type that no endpoint has.
const FOR_NONE: &str = "bench.nothing";
const BODY: usize = 1_024;
const MEASURED: usize = 10;
const WARM_UP: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(20);

impl Changes {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let endpoints = bench.size(self.endpoints, 2_000, 10_000).max(1);
        let connections = self.connections.unwrap_or(16);
        let time = Duration::from_secs(bench.size(self.seconds, 6, 15));
        let rate = self.rate.unwrap_or(100.0);
        limits::ensure_open_files(4_000)?;

        let gateway = bench.start_gateway().await?;
        let seconds = (2 * (time + WARM_UP)).as_secs_f64();
        let arrivals = Arc::new(Arrivals::new((rate * seconds).ceil() as usize + 100));
        let endpoint = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let keys = calls::create_tenants(&gateway, "bench", MEASURED + 1).await?;
        let (large, keys) = keys.split_last().ok_or_else(|| anyhow::anyhow!("no tenants"))?;
        calls::create_webhook_each(&gateway, keys, std::iter::repeat(&endpoint), EVENT_TYPE)
            .await?;
        let url = endpoint.url();
        let webhooks: Vec<_> = (0..endpoints)
            .map(|number| {
                let body = json!({"url": format!("{url}/{number}"), "events": [EVENT_TYPE]});
                (large.clone(), body)
            })
            .collect();
        let ids: Arc<[String]> = calls::create_webhooks(&gateway, webhooks).await?.into();

        let route = |key: &String| Route { key: key.clone(), event_type: EVENT_TYPE.into() };
        let load = Load {
            gateway: gateway.address,
            routes: keys.iter().map(route).collect(),
            arrivals: Some(arrivals.clone()),
            body: BODY,
            connections: 32,
        };
        let pace = LoadModel::Steady(rate);
        load.run(pace, WARM_UP).await?;
        let quiet = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let count = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..connections {
            let (key, ids, count) = (large.clone(), ids.clone(), count.clone());
            callers.spawn(change(gateway.address, key, ids, count));
        }
        load.run(pace, WARM_UP).await?;
        let beside = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let stopped = std::iter::from_fn(|| callers.try_join_next()).count();
        let changed = count.load(Relaxed);
        gateway.kill().await?;

        let (before, after) = (quiet.figures, beside.figures);
        let refused = beside.published.refused as f64;
        let checks = [
            Check::p99("publish, p99 ms", quiet.publish_p99(), beside.publish_p99()),
            Check::throughput("deliveries/s", before.per_second, after.per_second),
            Check::p99("delivery, p99 ms", before.p99_ms, after.p99_ms),
            Check::informational("max ms", before.max_ms, after.max_ms),
            Check::new("refused", refused, Limit::AtMost(0.0)),
            Check::new("changes refused", stopped as f64, Limit::AtMost(0.0)),
            Check::new("changes", changed as f64, Limit::None),
        ];
        let title = format!(
            "Tenants beside one that changes one of {endpoints} endpoints before each of its events"
        );
        bench.report.checks("changes", &title, &checks)
    }
}

/// Changes an endpoint and publishes an event, in turn, until one of both is refused.
async fn change(
    gateway: SocketAddr,
    key: String,
    ids: Arc<[String]>,
    count: Arc<AtomicUsize>,
) -> anyhow::Result<()> {
    let mut line = HttpConnection::open(gateway).await?;
    let event = event(FOR_NONE, UNMEASURED, BODY);
    loop {
        let number = count.fetch_add(1, Relaxed);
        let path = format!("/v1/webhooks/{}", ids[number % ids.len()]);
        let name = json!({"name": format!("change {number}")}).to_string();
        let (changed, _) = line.send("PATCH", &path, &key, name.as_bytes()).await?;
        let (published, _) = line.post("/v1/events", &key, event.as_bytes()).await?;
        if ![changed, published].iter().all(|status| (200..300).contains(status)) {
            return Ok(());
        }
    }
}
