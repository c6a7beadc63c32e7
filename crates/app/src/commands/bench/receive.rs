//! Measures receiving: a partner posts signed webhooks over HTTP to `gancho serve` in a separate process,
//! alone and next to floods and slow senders.

mod hostile_clients;

use std::{sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use tokio_util::task::TaskTracker;

use self::hostile_clients::{Flood, SlowSenders};
use super::{
    child::Child,
    place,
    report::LatencyDistribution,
    signed::{LoadModel, SignedLoad},
    sink::{NUMBERED, Sink},
};

/// Post signed webhooks to a separate gateway process. Load and dispatch target run in this process; CPU
/// figures are those of the gateway.
#[derive(Debug, Args)]
pub struct ReceiveBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Number of webhooks.
    #[arg(long, default_value_t = 60_000)]
    webhooks: usize,
    /// Number of connections. Each sends its next webhook after the response to the previous one.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Webhooks per second. Default: as many as the gateway accepts.
    #[arg(long)]
    rate: Option<u32>,
    /// Size of a body in bytes.
    #[arg(long, default_value_t = 1_024)]
    body: usize,
    /// Also dispatch the webhooks to the target, as a node with the role `worker` does.
    #[arg(long)]
    dispatch: bool,
    /// Repeat the run next to this many requests per second with an invalid signature.
    #[arg(long)]
    flood: Option<u32>,
    /// Repeat the run next to this many connections that send their headers one byte at a time.
    #[arg(long)]
    loris: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Maximum time to wait for the next arrival.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long the flood is measured alone.
const ALONE: Duration = Duration::from_secs(3);

impl ReceiveBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let tasks = TaskTracker::new();
        let sink = Sink::start(self.webhooks, NUMBERED, &tasks).await?;
        let roles = if self.dispatch { "api,ingest,worker" } else { "api,ingest" };
        let gateway = Child::start(&url, folder.path(), &[("GANCHO_ROLES", roles)]).await?;
        let signed = Arc::new(SignedLoad::new(&gateway, &sink, self.body).await?);

        let watch = gateway.watch();
        let latencies = self.send(&signed, 0).await?;
        watch.report("accepted from a partner", self.webhooks as u64, self.json);
        LatencyDistribution::of(latencies).report("latency of the response", self.json);
        if self.dispatch {
            sink.arrived(self.webhooks, TIMEOUT).await?;
            watch.report("dispatched to the target", self.webhooks as u64, self.json);
            LatencyDistribution::of(sink.latencies()).report("latency until dispatched", self.json);
        }
        if let Some(rate) = self.flood {
            let quiet = written(&gateway).await;
            let flood = Flood::start(gateway.ingest, rate, self.body).await?;
            let flooded = written(&gateway).await;
            let refused = flood.refused();
            anstream::eprintln!(
                "{refused} refused in {ALONE:?}: {flooded} bytes written meanwhile, {quiet} without them"
            );
            let latencies = self.send(&signed, 1).await?;
            LatencyDistribution::of(latencies).report("the same during a flood", self.json);
            flood.stop();
        }
        if let Some(count) = self.loris {
            let loris = SlowSenders::start(gateway.ingest, count).await?;
            let latencies = self.send(&signed, 2).await?;
            anstream::eprintln!("{} of {count} slow connections are still open", loris.open());
            LatencyDistribution::of(latencies).report("the same with slow connections", self.json);
            loris.stop();
        }
        gateway.stop().await
    }

    async fn send(&self, signed: &Arc<SignedLoad>, round: usize) -> anyhow::Result<Vec<Duration>> {
        let pace = self.rate.map_or(LoadModel::Closed, LoadModel::Open);
        let first = round * self.webhooks;
        let sent = signed.send(first, self.webhooks, self.connections, pace).await?;
        match sent.refusal {
            None => Ok(sent.latencies),
            Some(refusal) => bail!("{} webhooks were refused: {refusal}", sent.refused),
        }
    }
}

/// Measures the bytes that the process writes to disk within a duration.
async fn written(gateway: &Child) -> u64 {
    let before = gateway.written();
    tokio::time::sleep(ALONE).await;
    gateway.written() - before
}
