//! `gancho emails`: the outbox, suppressed addresses, and the e-mails that the sink of a development
//! gateway has captured. A running gateway does the work.
//!
//! In reading order: `send` submits an e-mail, `suppressions` manages suppressed addresses, `captured` reads
//! the sink, `show` prints e-mails.

mod captured;
mod send;
mod show;
mod suppressions;

use clap::{Args, Subcommand};

use super::{
    client::{TenantArgs, filtered, rows},
    table,
};
use crate::{paint::DIM, remote::part};

/// Send e-mails and follow their delivery.
#[derive(Debug, Args)]
pub struct Emails {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List a tenant's e-mails, newest first. Recipients are masked.
    List(List),
    /// Show an e-mail with all delivery attempts.
    Show(Show),
    /// Send an e-mail. Prints its id once it is stored and fsynced.
    Send(Box<send::Send>),
    /// Manage a tenant's suppressed addresses.
    #[command(subcommand)]
    Suppressions(suppressions::Suppressions),
    /// List captured e-mails, or show one, if the transport is `sink` (as in `gancho dev`).
    #[command(alias = "caught")]
    Captured(captured::Captured),
}

#[derive(Debug, Args)]
struct List {
    /// Only e-mails with this status: pending, sent, failed or retry_scheduled.
    #[arg(long)]
    status: Option<String>,
    /// Only e-mails with this external id.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Only e-mails to this address.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// Maximum number of e-mails.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
struct Show {
    /// Id of the e-mail: out_…
    outbox_id: String,
    /// Print the raw message, if it was captured by the sink.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    acting: TenantArgs,
}

impl Emails {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => list.run().await,
            Action::Show(show) => show.run().await,
            Action::Send(send) => send.run().await,
            Action::Suppressions(suppressions) => suppressions.run().await,
            Action::Captured(captured) => captured.run().await,
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let status = self.status.map(|status| status.to_ascii_uppercase().replace('-', "_"));
        let filters =
            [("status", &status), ("externalId", &self.external_id), ("recipient", &self.to)];
        let found = rows(&remote, &filtered("/v1/emails", &filters), self.limit).await?;
        if self.acting.client.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say("No e-mails found.");
        }
        show::emails(&found.rows).print()?;
        if found.has_more {
            table::say(&format!("{DIM}… more e-mails exist; use --limit to show them{DIM:#}"))?;
        }
        Ok(())
    }
}

impl Show {
    async fn run(self) -> anyhow::Result<()> {
        if self.raw {
            let remote = self.acting.client.gateway().await?;
            return captured::email(&remote, &self.outbox_id, self.acting.client.json).await;
        }
        let remote = self.acting.gateway().await?;
        let email = remote.get(&format!("/v1/emails/{}", part(&self.outbox_id))).await?;
        if self.acting.client.json { table::json(&email) } else { show::email(&email) }
    }
}
