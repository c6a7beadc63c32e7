//! `gancho bench`: measures the speed of the parts on this machine.

mod child;
mod claim;
mod dashboard;
mod deliver;
mod http_connection;
mod isolation;
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
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Store(store::StoreBench),
    Claim(claim::ClaimBench),
    Deliver(deliver::DeliverBench),
    Serve(serve::ServeBench),
    Receive(receive::ReceiveBench),
    Mail(mail::MailBench),
    Isolation(isolation::IsolationBench),
    Dashboard(dashboard::DashboardBench),
}

impl Bench {
    pub async fn run(self) -> anyhow::Result<()> {
        logs::start(LogFormat::Auto, logs::QUIET);
        match self.what {
            Action::Store(bench) => bench.run().await,
            Action::Claim(bench) => bench.run().await,
            Action::Deliver(bench) => bench.run().await,
            Action::Serve(bench) => bench.run().await,
            Action::Receive(bench) => bench.run().await,
            Action::Mail(bench) => bench.run().await,
            Action::Isolation(bench) => bench.run().await,
            Action::Dashboard(bench) => bench.run().await,
        }
    }
}
