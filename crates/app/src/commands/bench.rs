//! `gancho bench`: how fast the parts are on this machine.

mod child;
mod claim;
mod deliver;
mod isolation;
mod line;
mod mail;
mod place;
mod receive;
mod report;
mod serve;
mod signed;
mod sink;
mod store;

use clap::{Args, Subcommand};

use crate::{logs, settings::LogFormat};

/// Measure performance on this machine. Compare only figures of the same run.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Store(store::StoreBench),
    Claim(claim::ClaimBench),
    Deliver(deliver::DeliverBench),
    Serve(serve::ServeBench),
    Receive(receive::ReceiveBench),
    Mail(mail::MailBench),
    Isolation(isolation::IsolationBench),
}

impl Bench {
    pub async fn run(self) -> anyhow::Result<()> {
        logs::start(LogFormat::Auto, logs::QUIET);
        match self.what {
            What::Store(bench) => bench.run().await,
            What::Claim(bench) => bench.run().await,
            What::Deliver(bench) => bench.run().await,
            What::Serve(bench) => bench.run().await,
            What::Receive(bench) => bench.run().await,
            What::Mail(bench) => bench.run().await,
            What::Isolation(bench) => bench.run().await,
        }
    }
}
