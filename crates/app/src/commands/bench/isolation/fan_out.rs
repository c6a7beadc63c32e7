//! One tenant has very many endpoints, and every one of its events is for all of them. Other tenants have one
//! each.

use std::{sync::Arc, time::Duration};

use clap::Args;
use serde_json::json;

use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint, FailureMode},
    limits,
    load::{Load, LoadModel, Route},
    report::{Check, Limit},
};

/// Tenants next to one whose every event is for very many endpoints.
///
/// How long their publish calls and their deliveries take, alone and next to it.
#[derive(Debug, Clone, Default, Args)]
pub struct FanOut {
    /// Endpoints of the one tenant. Default: 500; full 5000.
    #[arg(long)]
    endpoints: Option<usize>,
    /// How they fail. Default: they answer at once.
    #[arg(long)]
    kind: Option<FailureMode>,
    /// Events per second of the one tenant, each for all of its endpoints. Default: 5.
    #[arg(long)]
    wide_rate: Option<f64>,
    /// Events per second in all of the tenants that are measured. Default: 100.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that they are measured for, without and with it. Default: 6; full 30.
    #[arg(long)]
    seconds: Option<u64>,
}

const EVENT_TYPE: &str = "bench.event";
const BODY: usize = 1_024;
const MEASURED: usize = 10;
/// Servers that the endpoints are distributed over.
const SERVERS: usize = 16;
const WARM_UP: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(20);

impl FanOut {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let endpoints = bench.size(self.endpoints, 500, 5_000);
        let time = Duration::from_secs(bench.size(self.seconds, 6, 30));
        let (rate, wide_rate) = (self.rate.unwrap_or(100.0), self.wide_rate.unwrap_or(5.0));
        limits::ensure_open_files(endpoints * 2 + 2_000)?;

        let gateway = bench.start_gateway().await?;
        let seconds = (2 * (time + WARM_UP)).as_secs_f64();
        let arrivals = Arc::new(Arrivals::new((rate * seconds).ceil() as usize + 100));
        let measured = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let keys = calls::create_tenants(&gateway, "bench", MEASURED + 1).await?;
        let (wide, keys) = keys.split_last().ok_or_else(|| anyhow::anyhow!("no tenants"))?;
        calls::create_webhook_each(&gateway, keys, std::iter::repeat(&measured), EVENT_TYPE)
            .await?;
        let mut servers = Vec::new();
        for _ in 0..SERVERS {
            servers.push(match self.kind {
                Some(kind) => Endpoint::dead(kind).await?,
                None => Endpoint::start(Behavior::Late(Duration::ZERO))?,
            });
        }
        let webhooks: Vec<_> = (0..endpoints)
            .map(|number| {
                let url = format!("{}/{number}", servers[number % SERVERS].url());
                (wide.clone(), json!({"url": url, "events": [EVENT_TYPE]}))
            })
            .collect();
        calls::create_webhooks(&gateway, webhooks).await?;

        let route = |key: &String| Route { key: key.clone(), event_type: EVENT_TYPE.into() };
        let load = Load {
            gateway: gateway.address,
            routes: keys.iter().map(route).collect(),
            arrivals: Some(arrivals.clone()),
            body: BODY,
            connections: 32,
        };
        let wide = Load { routes: [route(wide)].into(), arrivals: None, ..load.clone() };
        let pace = LoadModel::Steady(rate);
        load.run(pace, WARM_UP).await?;
        let quiet = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let beside = async {
            load.run(pace, WARM_UP).await?;
            load.measure(&arrivals, pace, time, TIMEOUT).await
        };
        let (beside, published) =
            tokio::join!(beside, wide.run(LoadModel::Steady(wide_rate), WARM_UP + time));
        let (beside, published) = (beside?, published?);
        let sent: usize = servers.iter().map(Endpoint::requests).sum();
        gateway.kill().await?;

        let (before, after) = (quiet.figures, beside.figures);
        let refused = beside.published.refused as f64;
        let accepted = (published.latencies.len() - published.refused) as f64;
        let checks = [
            Check::p99("publish, p99 ms", quiet.publish_p99(), beside.publish_p99()),
            Check::throughput("deliveries/s", before.per_second, after.per_second),
            Check::p99("delivery, p99 ms", before.p99_ms, after.p99_ms),
            Check::informational("max ms", before.max_ms, after.max_ms),
            Check::new("refused", refused, Limit::AtMost(0.0)),
            Check::new("events missing", after.missing as f64, Limit::AtMost(0.0)),
            Check::new("events for all endpoints", accepted, Limit::None),
            Check::new("sent to them", sent as f64, Limit::None),
        ];
        let title = format!(
            "Tenants beside one that publishes {wide_rate} events/s for each of {endpoints} endpoints"
        );
        bench.report.checks("fan-out", &title, &checks)
    }
}
