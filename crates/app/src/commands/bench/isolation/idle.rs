//! Very many deliveries wait for a retry that is hours away, and some for a paused endpoint, so the gateway
//! has almost nothing to do.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use gancho_domain::{Clock, SystemClock};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Bench,
    arrivals::Arrivals,
    calls::{self, Call},
    endpoint::{Behavior, Endpoint},
    limits,
    load::{Route, UNMEASURED},
    report::{Check, Limit, progress},
};
use crate::commands::bench::child::Child;

/// CPU usage of an idle gateway.
///
/// Each delivery has failed once and is retried in hours; more are due at a paused endpoint. Events that
/// become due for a healthy endpoint meanwhile must arrive.
#[derive(Debug, Clone, Default, Args)]
pub struct Idle {
    /// Deliveries that wait for a retry. Default: 20000; full 100000.
    #[arg(long)]
    deliveries: Option<usize>,
    /// Endpoints that they are for, more than half of them of one tenant. Default: 2000; full 10000.
    #[arg(long)]
    endpoints: Option<usize>,
    /// Tenants that own the endpoints. Default: a fifth of the endpoints.
    #[arg(long)]
    tenants: Option<usize>,
    /// Deliveries that are due at a paused endpoint. Default: 1000.
    #[arg(long)]
    paused: Option<usize>,
    /// Seconds that it is measured for. Default: 20.
    #[arg(long)]
    seconds: Option<u64>,
}

const EVENT_TYPE: &str = "bench.event";
/// Maximum CPU usage, in percent of one core.
const MAX_CPU_PERCENT: f64 = 5.0;
/// After more consecutive failures the breaker of an endpoint opens, and its other deliveries are not tried.
const MAX_PER_ENDPOINT: usize = 10;
/// Maximum time until all were tried once, plus a second for each thousand.
const TO_TRY: Duration = Duration::from_secs(30);
/// Time for the writes of the last attempts.
const TO_SETTLE: Duration = Duration::from_secs(3);
/// Events that become due while the gateway is measured, and how long before that they are published.
const SCHEDULED: usize = 20;
const AHEAD: Duration = Duration::from_secs(2);

impl Idle {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let endpoints = bench.size(self.endpoints, 2_000, 10_000).max(1);
        let deliveries = bench.size(self.deliveries, 20_000, 100_000);
        let tenants = self.tenants.unwrap_or(endpoints / 5).clamp(1, endpoints);
        let time = Duration::from_secs(self.seconds.unwrap_or(20));
        let events = deliveries.div_ceil(endpoints);
        ensure!(
            events <= MAX_PER_ENDPOINT,
            "at most {MAX_PER_ENDPOINT} deliveries for each endpoint can be tried and fail"
        );
        limits::ensure_open_files(2_000)?;

        let gateway = bench.start_gateway().await?;
        let failing = Endpoint::start(Behavior::Fail)?;
        let arrivals = Arc::new(Arrivals::new(SCHEDULED));
        let healthy = Endpoint::start(Behavior::Record(arrivals.clone()))?;
        let mut keys = calls::create_tenants(&gateway, "bench", tenants + 2).await?;
        let [paused, punctual] = keys.split_off(tenants).try_into().unwrap_or_default();
        progress(&format!("idle: {deliveries} deliveries fail once"));
        pause(&gateway, &paused, &healthy, self.paused.unwrap_or(1_000)).await?;
        fail_once(&gateway, &keys, &failing, endpoints, events).await?;
        let one = json!({"url": healthy.url(), "events": [EVENT_TYPE]});
        calls::create_webhooks(&gateway, [(punctual.clone(), one)]).await?;
        sleep(TO_SETTLE).await;

        schedule(&gateway, &punctual, &arrivals).await?;
        let (before, start, attempts) = (gateway.cpu(), Instant::now(), failing.requests());
        sleep(time.max(AHEAD * 2)).await;
        let busy = gateway.cpu().saturating_sub(before).as_secs_f64();
        let percent = busy / start.elapsed().as_secs_f64() * 100.0;
        let attempts = failing.requests() - attempts;
        let figures = arrivals.figures(0..arrivals.position(), start, Instant::now());
        let (waiting, in_flight) = calls::depth(&gateway).await?;
        let memory = gateway.peak_memory();
        gateway.kill().await?;

        let checks = [
            Check::new("CPU, % of a core", percent, Limit::AtMost(MAX_CPU_PERCENT)),
            Check::new("retries ahead of time", attempts as f64, Limit::AtMost(0.0)),
            Check::new("due and not arrived", figures.missing as f64, Limit::AtMost(0.0)),
            Check::new("deliveries waiting", (waiting - in_flight) as f64, Limit::None),
            Check::new("memory of the gateway, MiB", memory as f64, Limit::None),
        ];
        let title = format!("{deliveries} deliveries for {endpoints} endpoints wait for a retry");
        bench.report.checks("idle", &title, &checks)
    }
}

/// Creates a paused endpoint with due deliveries.
async fn pause(
    gateway: &Child,
    key: &str,
    endpoint: &Endpoint,
    events: usize,
) -> anyhow::Result<()> {
    let webhook = json!({"url": endpoint.url(), "events": [EVENT_TYPE]});
    let created = calls::create_webhooks(gateway, [(key.to_owned(), webhook)]).await?;
    let path = format!("/v1/webhooks/{}/pause", created.concat());
    calls::make(gateway, [Call::post(path, key, &json!({}))], |_| Ok(())).await?;
    let route = Route { key: key.to_owned(), event_type: EVENT_TYPE.into() };
    calls::publish(gateway, [route].into(), events, calls::BATCH, 256).await
}

/// Publishes that many events to all endpoints, which fail each of them once.
async fn fail_once(
    gateway: &Child,
    keys: &[String],
    failing: &Endpoint,
    endpoints: usize,
    events: usize,
) -> anyhow::Result<()> {
    let (url, owners) = (failing.url(), keys.to_vec());
    let webhooks = (0..endpoints).map(move |number| {
        // Three of five belong to the first tenant, the others to each in turn.
        let turn = number / 5 * 2 + number % 5;
        let owner = if number % 5 < 3 { 0 } else { turn % owners.len() };
        let body = json!({
            "url": format!("{url}/{number}"), "events": [EVENT_TYPE],
            "retry": {"schedule": ["6h", "6h"]},
        });
        (owners[owner].clone(), body)
    });
    calls::create_webhooks(gateway, webhooks).await?;
    let routes = keys.iter().map(|key| Route { key: key.clone(), event_type: EVENT_TYPE.into() });
    calls::publish(gateway, routes.collect(), events, 1, 256).await?;
    let count = events * endpoints;
    let until = Instant::now() + TO_TRY + Duration::from_millis(count as u64);
    loop {
        let (_, in_flight) = calls::depth(gateway).await?;
        let tried = failing.requests();
        if tried >= count && in_flight == 0 {
            return Ok(());
        }
        ensure!(Instant::now() < until, "only {tried} of {count} deliveries were tried");
        sleep(Duration::from_millis(250)).await;
    }
}

/// Publishes events that become due in a moment.
async fn schedule(gateway: &Child, key: &str, arrivals: &Arrivals) -> anyhow::Result<()> {
    let deliver_at = (SystemClock.now() + AHEAD).to_string();
    let events: Vec<Value> = (0..SCHEDULED)
        .map(|_| {
            let number = arrivals.publish(Instant::now() + AHEAD).unwrap_or(UNMEASURED);
            json!({"type": EVENT_TYPE, "data": {"n": number}, "deliver_at": deliver_at})
        })
        .collect();
    let call = Call::post("/v1/events/batch", key, &json!({"events": events}));
    calls::make(gateway, [call], |_| Ok(())).await?;
    Ok(())
}
