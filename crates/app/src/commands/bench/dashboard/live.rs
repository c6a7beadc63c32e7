//! What open dashboards with a live list cost: the same load without and beside them, in turns.

use std::time::Duration;

use serde_json::json;
use tokio::{io::AsyncReadExt, task::JoinSet};

use super::client::Browser;
use crate::commands::bench::{
    child::Child,
    report::LatencyDistribution,
    serve::load::{Load, LoadModel, Route},
};

/// Maximum time to wait for the next arrival.
const TIMEOUT: Duration = Duration::from_secs(20);
const CONNECTIONS: usize = 64;
/// Maximum share of its throughput that a node may lose.
const MAX_COST: f64 = 0.05;

pub struct LiveCost<'a> {
    pub gateway: &'a Child,
    pub browser: &'a Browser,
    pub load: &'a Load,
    pub routes: &'a [Route],
    pub events: usize,
    pub pace: LoadModel,
}

/// One turn of the load.
struct LoadRound {
    per_second: f64,
    cpu: Duration,
    p99_ms: f64,
}

impl LiveCost<'_> {
    pub async fn measure(&self, dashboards: usize, json: bool) -> anyhow::Result<()> {
        self.turn(LoadModel::Closed).await?;
        let [alone, alone_at_rate] =
            [self.turn(LoadModel::Closed).await?, self.turn(self.pace).await?];
        let watching = self.watch(dashboards).await?;
        let [beside, beside_at_rate] =
            [self.turn(LoadModel::Closed).await?, self.turn(self.pace).await?];
        drop(watching);
        let what = format!("{dashboards} live dashboards");
        report(&format!("as fast as it can, {what}"), &alone, &beside, json);
        report(&format!("at the given rate, {what}"), &alone_at_rate, &beside_at_rate, json);
        Ok(())
    }

    async fn turn(&self, pace: LoadModel) -> anyhow::Result<LoadRound> {
        let (cpu, start) = (self.gateway.cpu(), tokio::time::Instant::now());
        self.load.run(self.routes, self.events, CONNECTIONS, pace).await?;
        self.load.sink.arrived(self.events, TIMEOUT).await?;
        let per_second = self.events as f64 / start.elapsed().as_secs_f64();
        let p99_ms = LatencyDistribution::of(self.load.sink.latencies()).at(990);
        self.load.sink.forget();
        Ok(LoadRound { per_second, cpu: self.gateway.cpu().saturating_sub(cpu), p99_ms })
    }

    /// Opens dashboards, which read until the result is dropped.
    async fn watch(&self, dashboards: usize) -> anyhow::Result<JoinSet<()>> {
        let mut watching = JoinSet::new();
        for _ in 0..dashboards {
            let mut stream = self.browser.open_stream("/ui/live/deliveries").await?;
            watching.spawn(async move {
                let mut piece = vec![0; 64 * 1024];
                while stream.read(&mut piece).await.is_ok_and(|read| read > 0) {}
            });
        }
        Ok(watching)
    }
}

fn report(what: &str, alone: &LoadRound, beside: &LoadRound, json: bool) {
    let ratio = beside.per_second / alone.per_second;
    let cpu = beside.cpu.as_secs_f64() / alone.cpu.as_secs_f64().max(1e-9);
    let is_good = ratio >= 1.0 - MAX_COST;
    if json {
        let line = json!({
            "what": what, "alone_per_second": alone.per_second,
            "beside_per_second": beside.per_second, "ratio": ratio, "cpu_ratio": cpu,
            "alone_p99_ms": alone.p99_ms, "beside_p99_ms": beside.p99_ms, "is_good": is_good,
        });
        anstream::println!("{line}");
        return;
    }
    anstream::println!(
        "{what:<48} {:>8.0}/s to {:>8.0}/s   {ratio:.3}x   CPU {cpu:.2}x   p99 {:.1} to {:.1} ms{}",
        alone.per_second,
        beside.per_second,
        alone.p99_ms,
        beside.p99_ms,
        if is_good { "" } else { "   too costly" }
    );
}
