//! One tenant has many endpoints and very many deliveries, and reads lists. Another tenant publishes.

mod reading;

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::reading::{Readers, Readiness, time_page};
use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint},
    limits,
    load::{Load, LoadModel, Route},
    report::{Check, Limit, progress},
};
use crate::commands::bench::child::Child;

/// One tenant next to another that reads long lists.
///
/// Measures how long the first page of each list takes, and how concurrent list calls affect publishing.
#[derive(Debug, Clone, Default, Args)]
pub struct Lists {
    /// Endpoints of the large tenant. Default: 1000; full 5000.
    #[arg(long)]
    endpoints: Option<usize>,
    /// Its deliveries: each event goes to all of its endpoints. Default: 100000; full 1000000.
    #[arg(long)]
    deliveries: Option<usize>,
    /// List calls at once. Default: 64.
    #[arg(long)]
    readers: Option<usize>,
    /// Events per second of the other tenant. Default: 50.
    #[arg(long)]
    rate: Option<f64>,
    /// Seconds that it is measured for, each time: before, with and after the list calls. Default: 8; full 20.
    #[arg(long)]
    seconds: Option<u64>,
}

/// The event type of all endpoints of the large tenant.
const FOR_ALL: &str = "bench.event";
/// The event type of one of them.
const FOR_ONE: &str = "bench.single";
/// The event type of endpoints that always fail. Their deliveries are given up after the first attempt.
const FOR_FAILING: &str = "bench.failing";
const FAILING: usize = 50;
/// Fewer consecutive failures than open the breaker of an endpoint.
const FAILURES: usize = 9;
const MAX_PAGE_MS: f64 = 100.0;
const MAX_PUBLISH_MS: f64 = 20.0;
const BODY: usize = 256;
/// Maximum deliveries that one publish call makes.
const MAX_FAN_OUT: usize = 5_000;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time to deliver everything, plus a second for each thousand.
const TO_DELIVER: Duration = Duration::from_secs(30);

impl Lists {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let endpoints = bench.size(self.endpoints, 1_000, 5_000).max(1);
        let deliveries = bench.size(self.deliveries, 100_000, 1_000_000);
        let time = Duration::from_secs(bench.size(self.seconds, 8, 20));
        let rate = self.rate.unwrap_or(50.0);
        limits::ensure_open_files(2_000)?;

        let gateway = bench.start_gateway().await?;
        let arrivals =
            Arc::new(Arrivals::new((rate * time.as_secs_f64()).ceil() as usize * 4 + 100));
        let healthy = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let failing = Endpoint::start(Behavior::Fail)?;
        let keys = calls::create_tenants(&gateway, "bench", 2).await?;
        let [large, other] = keys.as_slice() else { anyhow::bail!("no tenants") };
        progress(&format!("lists: {deliveries} deliveries to {endpoints} endpoints"));
        let webhook = fill(&gateway, large, other, [&healthy, &failing], endpoints).await?;
        let events = deliveries.div_ceil(endpoints);
        let route = |event_type: &str| Route { key: large.clone(), event_type: event_type.into() };
        let batch = (MAX_FAN_OUT / endpoints).clamp(1, calls::BATCH);
        calls::publish(&gateway, [route(FOR_ALL)].into(), events, batch, BODY).await?;
        calls::publish(&gateway, [route(FOR_FAILING)].into(), FAILURES, FAILURES, BODY).await?;
        wait_for_delivery(&gateway, deliveries).await?;

        let paths = paths(&webhook);
        let mut checks = Vec::new();
        for path in &paths {
            let took = time_page(&gateway, large, path).await?;
            let what = format!("GET {}, ms", path.replace(&webhook, "{id}"));
            checks.push(Check::new(what, took.as_secs_f64() * 1e3, Limit::AtMost(MAX_PAGE_MS)));
        }
        let load = |route: Route| Load {
            gateway: gateway.address,
            routes: [route].into(),
            arrivals: Some(arrivals.clone()),
            body: BODY,
            connections: 32,
        };
        let own = load(route(FOR_ONE));
        let own = own.measure(&arrivals, LoadModel::Steady(rate), time, TIMEOUT).await?;
        let other = load(Route { key: other.clone(), event_type: FOR_ALL.into() });
        let quiet = other.measure(&arrivals, LoadModel::Steady(rate), time, TIMEOUT).await?;
        let readers = Readers::start(&gateway, large, &paths, self.readers.unwrap_or(64));
        let readiness = Readiness::watch(&gateway);
        let beside = other.measure(&arrivals, LoadModel::Steady(rate), time, TIMEOUT).await?;
        let not_ready = readiness.failures();
        let pages = readers.pages();
        drop((readers, readiness));
        // Once more: a database that cleans up after the filling does so in any of the three.
        let again = other.measure(&arrivals, LoadModel::Steady(rate), time, TIMEOUT).await?;
        gateway.kill().await?;

        let own_p99 = own.publish_p99();
        checks.push(Check::new("its own publish, p99 ms", own_p99, Limit::AtMost(MAX_PUBLISH_MS)));
        let mean = f64::midpoint(quiet.publish_p99(), again.publish_p99());
        let name = "another tenant's publish, p99 ms";
        checks.push(Check::at_most_triple(name, mean, beside.publish_p99()));
        let (before, after) = (quiet.figures, beside.figures);
        let name = "another tenant's deliveries/s";
        checks.push(Check::throughput(name, before.per_second, after.per_second));
        checks.push(Check::p99("another tenant's delivery, p99 ms", before.p99_ms, after.p99_ms));
        let refused = beside.published.refused as f64;
        checks.push(Check::new("another tenant's refused", refused, Limit::AtMost(0.0)));
        checks.push(Check::new("/readyz not 200", not_ready as f64, Limit::AtMost(0.0)));
        checks.push(Check::new("pages read beside", pages as f64, Limit::None));
        let title = format!("A tenant with {endpoints} endpoints and {deliveries} deliveries");
        bench.report.checks("lists", &title, &checks)
    }
}

/// Creates the endpoints of both tenants. Returns the id of one of the large tenant's.
async fn fill(
    gateway: &Child,
    large: &str,
    other: &str,
    [healthy, failing]: [&Endpoint; 2],
    endpoints: usize,
) -> anyhow::Result<String> {
    let (owner, url) = (large.to_owned(), healthy.url());
    let many = (0..endpoints).map(move |number| {
        let mut events = vec![FOR_ALL];
        events.extend((number == 0).then_some(FOR_ONE));
        (owner.clone(), json!({"url": format!("{url}/{number}"), "events": events}))
    });
    let created = calls::create_webhooks(gateway, many).await?;
    let (owner, url) = (large.to_owned(), failing.url());
    let failing = (0..FAILING).map(move |number| {
        let body = json!({
            "url": format!("{url}/{number}"), "events": [FOR_FAILING], "retry": {"schedule": []},
        });
        (owner.clone(), body)
    });
    calls::create_webhooks(gateway, failing).await?;
    let one = json!({"url": healthy.url(), "events": [FOR_ALL]});
    calls::create_webhooks(gateway, [(other.to_owned(), one)]).await?;
    Ok(created[0].clone())
}

async fn wait_for_delivery(gateway: &Child, deliveries: usize) -> anyhow::Result<()> {
    let until = Instant::now() + TO_DELIVER + Duration::from_millis(deliveries as u64);
    loop {
        let (depth, _) = calls::depth(gateway).await?;
        if depth == 0 {
            return Ok(());
        }
        ensure!(Instant::now() < until, "{depth} of {deliveries} deliveries are still waiting");
        sleep(Duration::from_millis(500)).await;
    }
}

/// Returns first pages: of everything, of one webhook, and of filters that match nothing.
fn paths(webhook: &str) -> Vec<String> {
    let none = "event_type=bench.nothing";
    vec![
        "/v1/deliveries".into(),
        format!("/v1/deliveries?{none}"),
        "/v1/deliveries?status=pending".into(),
        format!("/v1/webhooks/{webhook}/deliveries"),
        format!("/v1/webhooks/{webhook}/deliveries?{none}"),
        "/v1/events".into(),
        format!("/v1/events?{none}"),
        "/v1/webhooks".into(),
        "/v1/dlq".into(),
        "/v1/dlq?code=NOTHING".into(),
    ]
}
