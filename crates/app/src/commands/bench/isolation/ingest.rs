//! A partner posts signed webhooks. Unauthenticated senders open connections, announce large bodies and send
//! them as slowly as they can.

mod unsigned_senders;

use std::sync::Arc;

use clap::Args;
use tokio_util::task::TaskTracker;

use self::unsigned_senders::UnsignedSenders;
use super::{
    Bench, limits,
    report::{Check, Limit, progress},
};
use crate::commands::bench::{
    report::LatencyDistribution,
    signed::{LoadModel, SendResults, SignedLoad},
    sink::{NUMBERED, Sink},
};

/// A partner's signed webhooks next to slow anonymous senders.
///
/// The senders announce the largest accepted body, from one address and then from many.
#[derive(Debug, Clone, Default, Args)]
pub struct Ingest {
    /// Slow senders. Default: 2000; full 5000.
    #[arg(long)]
    senders: Option<usize>,
    /// Signed webhooks per second. Default: 500.
    #[arg(long)]
    rate: Option<u32>,
    /// Seconds that they are measured for, without and with the senders. Default: 8; full 15.
    #[arg(long)]
    seconds: Option<u64>,
}

const BODY: usize = 1_024;
const CONNECTIONS: usize = 32;
/// Partners do not keep a connection forever.
const PER_CONNECTION: usize = 10;
/// Addresses that the senders use in the second round.
const ADDRESSES: u8 = 200;

impl Ingest {
    pub async fn run(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let senders = bench.size(self.senders, 2_000, 5_000);
        let rate = self.rate.unwrap_or(500).max(1);
        let webhooks = (bench.size(self.seconds, 8, 15) * u64::from(rate)) as usize;
        limits::ensure_open_files(senders + 1_000)?;

        let gateway = bench.start_gateway().await?;
        let tasks = TaskTracker::new();
        let sink = Sink::start(3 * webhooks, NUMBERED, &tasks).await?;
        let mut signed = SignedLoad::new(&gateway, &sink, BODY).await?;
        signed.per_connection = PER_CONNECTION;
        let signed = Arc::new(signed);
        let post = async |round: usize| {
            signed.send(round * webhooks, webhooks, CONNECTIONS, LoadModel::Open(rate)).await
        };
        let quiet = post(0).await?;
        let mut checks = vec![refusals("alone", &quiet)];
        let before = p99(&quiet);
        for (round, (addresses, from)) in
            [(1, "from one address"), (ADDRESSES, "from many addresses")].into_iter().enumerate()
        {
            progress(&format!("ingest: {senders} slow senders {from}"));
            let strangers = UnsignedSenders::start(gateway.ingest, senders, addresses).await;
            let sent = post(round + 1).await?;
            let (open, opened) = strangers.counts();
            drop(strangers);
            checks.push(Check::at_most_triple(
                format!("p99 ms, senders {from}"),
                before,
                p99(&sent),
            ));
            checks.push(refusals(&format!("senders {from}"), &sent));
            let name = format!("connections held, senders {from}");
            checks.push(Check::new(name, open as f64, Limit::None));
            let name = format!("connections opened, senders {from}");
            checks.push(Check::new(name, opened as f64, Limit::None));
        }
        gateway.kill().await?;
        let title = format!("A partner's webhooks, {rate}/s, beside {senders} slow senders");
        bench.report.checks("ingest", &title, &checks)
    }
}

fn refusals(when: &str, sent: &SendResults) -> Check {
    if let Some(refusal) = &sent.refusal {
        anstream::eprintln!("ingest: {} webhooks were refused: {refusal}", sent.refused);
    }
    Check::new(format!("not answered 204, {when}"), sent.refused as f64, Limit::AtMost(0.0))
}

fn p99(sent: &SendResults) -> f64 {
    LatencyDistribution::of(sent.latencies.clone()).at(990)
}
