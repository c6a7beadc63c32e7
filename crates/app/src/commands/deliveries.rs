//! `gancho deliveries`: what happens to deliveries. A running gateway does the work.

mod tail;

use clap::{Args, Subcommand};

/// Watch deliveries.
#[derive(Debug, Args)]
pub struct Deliveries {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print what happens to deliveries, a line for each change, until interrupted. Reconnects when the
    /// connection is lost. Shows what the node that answers does.
    Tail(tail::Tail),
}

impl Deliveries {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::Tail(tail) => tail.run().await,
        }
    }
}
