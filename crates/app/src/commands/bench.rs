//! `gancho bench`: how fast the parts are on this machine.

mod claim;
mod deliver;
mod place;
mod report;
mod store;

use clap::{Args, Subcommand};

/// Measure how fast the parts are here. Figures of one run are good against each other only.
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
}

impl Bench {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Store(bench) => bench.run().await,
            What::Claim(bench) => bench.run().await,
            What::Deliver(bench) => bench.run().await,
        }
    }
}
