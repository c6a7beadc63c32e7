//! Receiving from a partner: signed webhooks over HTTP to `gancho serve` in a process of its own, alone and
//! while others flood it or dawdle.

mod crowd;

use std::{sync::Arc, time::Duration};

use anyhow::bail;
use clap::Args;
use tokio_util::task::TaskTracker;

use self::crowd::{Flood, Loris};
use super::{
    child::Child,
    place,
    report::Spread,
    signed::{Pace, Signed},
    sink::{NUMBERED, Sink},
};

/// Post signed webhooks to a gateway in a process of its own. Load and core are in this process; the CPU in
/// the figures is the gateway's.
#[derive(Debug, Args)]
pub struct ReceiveBench {
    /// Where; a new SQLite file in a temporary folder if not given.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    #[arg(long, default_value_t = 60_000)]
    webhooks: usize,
    /// Connections, each of which sends when its last webhook was answered.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// So many webhooks a second, instead of as many as it takes.
    #[arg(long)]
    rate: Option<u32>,
    /// Bytes in a body.
    #[arg(long, default_value_t = 1_024)]
    body: usize,
    /// Hand them to the core as well, as a node that also works does.
    #[arg(long)]
    dispatch: bool,
    /// Then the same again beside so many requests a second without a good signature.
    #[arg(long)]
    flood: Option<u32>,
    /// Then the same again beside so many connections that send their head a byte at a time.
    #[arg(long)]
    loris: Option<usize>,
    #[arg(long)]
    json: bool,
}

/// How long to wait for the next arrival before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the flood is watched alone.
const ALONE: Duration = Duration::from_secs(3);

impl ReceiveBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let tasks = TaskTracker::new();
        let sink = Sink::start(self.webhooks, NUMBERED, &tasks).await?;
        let roles = if self.dispatch { "api,ingest,worker" } else { "api,ingest" };
        let gateway = Child::start(&url, folder.path(), &[("GANCHO_ROLES", roles)]).await?;
        let signed = Arc::new(Signed::new(&gateway, &sink, self.body).await?);

        let watch = gateway.watch();
        let latencies = self.send(&signed, 0).await?;
        watch.report("accepted from a partner", self.webhooks as u64, self.json);
        Spread::of(latencies).report("until it was answered", self.json);
        if self.dispatch {
            sink.arrived(self.webhooks, PATIENCE).await?;
            watch.report("and handed to the core", self.webhooks as u64, self.json);
            Spread::of(sink.latencies()).report("until the core had it", self.json);
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
            Spread::of(latencies).report("the same beside a flood", self.json);
            flood.stop();
        }
        if let Some(count) = self.loris {
            let loris = Loris::start(gateway.ingest, count).await?;
            let latencies = self.send(&signed, 2).await?;
            anstream::eprintln!("{} of {count} slow connections are still open", loris.open());
            Spread::of(latencies).report("the same beside slow connections", self.json);
            loris.stop();
        }
        gateway.stop().await
    }

    async fn send(&self, signed: &Arc<Signed>, round: usize) -> anyhow::Result<Vec<Duration>> {
        let pace = self.rate.map_or(Pace::Closed, Pace::Open);
        let first = round * self.webhooks;
        let sent = signed.send(first, self.webhooks, self.connections, pace).await?;
        match sent.refusal {
            None => Ok(sent.latencies),
            Some(refusal) => bail!("{} webhooks were refused: {refusal}", sent.refused),
        }
    }
}

/// Bytes that it has had written to a disk in a while.
async fn written(gateway: &Child) -> u64 {
    let before = gateway.written();
    tokio::time::sleep(ALONE).await;
    gateway.written() - before
}
