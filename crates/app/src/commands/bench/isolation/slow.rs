//! Endpoints that respond after a while, next to many that take far longer and have more waiting events than
//! can be delivered.

use std::{sync::Arc, time::Duration};

use clap::Args;

use super::{
    Bench,
    arrivals::Arrivals,
    calls,
    endpoint::{Behavior, Endpoint},
    limits,
    load::{Load, LoadModel, Route},
    report::{Check, Limit, progress},
};

/// Slow endpoints next to slower ones.
///
/// Ten tenants have endpoints that answer after a while and are published to at a steady rate. Many others have
/// endpoints that take almost two seconds, with more events waiting than can be delivered.
#[derive(Debug, Clone, Default, Args)]
pub struct Slow {
    /// Number of slower endpoints, each of a tenant of its own. Default: 40; full 200.
    #[arg(long)]
    slower: Option<usize>,
    /// Response times of the measured endpoints in ms. Default: 120,300.
    #[arg(long, value_delimiter = ',')]
    answer_ms: Vec<u64>,
    /// After how many milliseconds the slower ones answer. Default: 1900.
    #[arg(long)]
    slower_ms: Option<u64>,
    /// Events per second in all for those that are measured. Default: 200.
    #[arg(long)]
    rate: Option<f64>,
    /// Events waiting for each of the slower ones. Default: 200; full 1000.
    #[arg(long)]
    waiting: Option<usize>,
    /// Seconds that it is measured for, without and with the slower ones. Default: 8; full 20.
    #[arg(long)]
    seconds: Option<u64>,
}

const EVENT_TYPE: &str = "bench.event";
const MEASURED: usize = 10;
const BODY: usize = 1_024;
/// Time until the gateway has measured the endpoints' responses.
const WARM_UP: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(20);

impl Slow {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let all = if self.answer_ms.is_empty() { &[120, 300][..] } else { &self.answer_ms };
        for answer_ms in all {
            self.step(bench, *answer_ms).await?;
        }
        Ok(())
    }

    async fn step(&self, bench: &mut Bench, answer_ms: u64) -> anyhow::Result<()> {
        let slower = bench.size(self.slower, 40, 200);
        let slower_ms = self.slower_ms.unwrap_or(1_900);
        let waiting = bench.size(self.waiting, 200, 1_000);
        let time = Duration::from_secs(bench.size(self.seconds, 8, 20));
        let rate = self.rate.unwrap_or(200.0);
        limits::ensure_open_files(8_000)?;

        let gateway = bench.start_gateway().await?;
        let seconds = (2 * (time + WARM_UP)).as_secs_f64();
        let arrivals = Arc::new(Arrivals::new((rate * seconds).ceil() as usize + 100));
        let measured = Behavior::RecordAfter(arrivals.clone(), Duration::from_millis(answer_ms));
        let late = Behavior::Late(Duration::from_millis(slower_ms));
        let behaviors = std::iter::repeat_n(measured, MEASURED);
        let endpoints = behaviors
            .chain(std::iter::repeat_n(late, slower))
            .map(Endpoint::start)
            .collect::<anyhow::Result<Vec<_>>>()?;
        let keys = calls::create_tenants(&gateway, "bench", endpoints.len()).await?;
        calls::create_webhook_each(&gateway, &keys, &endpoints, EVENT_TYPE).await?;
        let mut routes = keys.into_iter().map(|key| Route { key, event_type: EVENT_TYPE.into() });
        let load = Load {
            gateway: gateway.address,
            routes: routes.by_ref().take(MEASURED).collect(),
            arrivals: Some(arrivals.clone()),
            body: BODY,
            connections: 32,
        };
        let pace = LoadModel::Steady(rate);
        load.run(pace, WARM_UP).await?;
        let quiet = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        progress(&format!(
            "slow: publishing {waiting} events for each of {slower} slower endpoints"
        ));
        calls::publish(&gateway, routes.collect(), waiting, calls::BATCH, BODY).await?;
        load.run(pace, WARM_UP).await?;
        let beside = load.measure(&arrivals, pace, time, TIMEOUT).await?;
        let served: usize = endpoints[MEASURED..].iter().map(Endpoint::requests).sum();
        gateway.kill().await?;

        let (before, after) = (quiet.figures, beside.figures);
        let checks = [
            Check::throughput("deliveries/s", before.per_second, after.per_second),
            Check::informational("p50 ms", before.p50_ms, after.p50_ms),
            Check::p99("p99 ms", before.p99_ms, after.p99_ms),
            Check::informational("max ms", before.max_ms, after.max_ms),
            Check::new("events missing", after.missing as f64, Limit::AtMost(0.0)),
            Check::new("sent to the slower ones", served as f64, Limit::None),
        ];
        let title = format!(
            "Endpoints that answer after {answer_ms} ms beside {slower} that take {slower_ms} ms"
        );
        bench.report.checks("slow", &title, &checks)
    }
}
