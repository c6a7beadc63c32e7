//! Some tenants publish as many events as they can, in batches. Another publishes one at a time.

use std::{sync::Arc, time::Duration};

use clap::Args;
use tokio::task::JoinSet;

use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint},
    limits,
    load::{Load, LoadModel, Route, UNMEASURED, event_with},
    report::{Check, Limit},
};
use crate::commands::bench::http_connection::HttpConnection;

/// One tenant next to others that publish large batches.
///
/// How long its publish calls and its deliveries take, alone and next to them.
#[derive(Debug, Clone, Default, Args)]
pub struct Batches {
    /// Tenants that publish batches. Default: 1; full 3.
    #[arg(long)]
    tenants: Option<usize>,
    /// Connections of each of them. Default: 4; full 16.
    #[arg(long)]
    connections: Option<usize>,
    /// Events in a batch. Default: 1000.
    #[arg(long)]
    events: Option<usize>,
    /// Size of the data of each of their events in bytes. Default: 256.
    #[arg(long)]
    body: Option<usize>,
    /// Events per second of the tenant that is measured. Default: 100.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that it is measured for, without and with the batches. Default: 6; full 15.
    #[arg(long)]
    seconds: Option<u64>,
}

const EVENT_TYPE: &str = "bench.event";
const BODY: usize = 256;
const WARM_UP: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(20);

impl Batches {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let tenants = bench.size(self.tenants, 1, 3);
        let connections = bench.size(self.connections, 4, 16);
        let events = self.events.unwrap_or(1_000);
        let body = self.body.unwrap_or(BODY);
        let time = Duration::from_secs(bench.size(self.seconds, 6, 15));
        let rate = self.rate.unwrap_or(100.0);
        limits::ensure_open_files(4_000)?;

        let gateway = bench.start_gateway().await?;
        let seconds = (2 * (time + WARM_UP)).as_secs_f64();
        let arrivals = Arc::new(Arrivals::new((rate * seconds).ceil() as usize + 100));
        let endpoint = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let keys = calls::create_tenants(&gateway, "bench", tenants + 1).await?;
        let endpoints = std::iter::repeat(&endpoint);
        calls::create_webhook_each(&gateway, &keys, endpoints, EVENT_TYPE).await?;
        let load = Load {
            gateway: gateway.address,
            routes: [Route { key: keys[0].clone(), event_type: EVENT_TYPE.into() }].into(),
            arrivals: Some(arrivals.clone()),
            body: BODY,
            connections: 16,
        };
        let pace = LoadModel::Steady(rate);
        load.run(pace, WARM_UP).await?;
        let quiet = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let list = vec![event_with(EVENT_TYPE, UNMEASURED, &text(body)); events].join(",");
        let batch: Arc<str> = format!(r#"{{"events":[{list}]}}"#).into();
        let mut senders = JoinSet::new();
        for key in keys[1..].iter().flat_map(|key| std::iter::repeat_n(key, connections)) {
            let (key, batch, address) = (key.clone(), batch.clone(), gateway.address);
            senders.spawn(async move {
                let mut line = HttpConnection::open(address).await?;
                while let (200..=299, _) =
                    line.send("POST", "/v1/events/batch", &key, batch.as_bytes()).await?
                {
                }
                anyhow::Ok(())
            });
        }
        load.run(pace, WARM_UP).await?;
        let beside = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let stopped = std::iter::from_fn(|| senders.try_join_next()).count();
        gateway.kill().await?;

        let (before, after) = (quiet.figures, beside.figures);
        let refused = beside.published.refused as f64;
        let checks = [
            Check::p99("publish, p99 ms", quiet.publish_p99(), beside.publish_p99()),
            Check::throughput("deliveries/s", before.per_second, after.per_second),
            Check::p99("delivery, p99 ms", before.p99_ms, after.p99_ms),
            Check::new("refused", refused, Limit::AtMost(0.0)),
            Check::new("batches refused", stopped as f64, Limit::AtMost(0.0)),
        ];
        let title = format!(
            "One tenant beside {tenants} with {connections} connections that publish batches of {events} x {body} bytes"
        );
        bench.report.checks("batches", &title, &checks)
    }
}

/// Returns text that compresses about as well as usual JSON.
fn text(size: usize) -> String {
    let mut text: String = (0_u32..)
        .map(|n| format!("{} ", n.wrapping_mul(2_654_435_761) >> 12))
        .take(size / 7 + 1)
        .collect();
    text.truncate(size);
    text
}
