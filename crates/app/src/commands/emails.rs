//! `gancho emails`: the outbox, suppressed addresses, and the e-mails that the sink of a development
//! gateway has captured. A running gateway does the work.
//!
//! In reading order: `send` submits an e-mail, `suppressions` manages suppressed addresses, `caught` reads
//! the sink, `show` prints e-mails.

mod caught;
mod send;
mod show;
mod suppressions;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::{
    client::{ClientArgs, filtered, rows},
    table::{self, text},
};
use crate::{
    paint::DIM,
    remote::{Remote, part},
};

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
    Caught(caught::Caught),
}

/// Selects the tenant.
#[derive(Debug, Args)]
struct TenantArgs {
    /// Slug or id of the tenant. Default: the only tenant, if there is just one.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct List {
    /// Only e-mails with this status: pending, sent, failed or retry_scheduled.
    #[arg(long)]
    status: Option<String>,
    /// Only e-mails with this external id.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
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
            Action::Caught(caught) => caught.run().await,
        }
    }
}

impl TenantArgs {
    /// Finds the gateway, to call it as the operator on behalf of the tenant.
    async fn gateway(&self) -> anyhow::Result<Remote> {
        let remote = self.client.gateway().await?;
        let tenant = match &self.tenant {
            Some(tenant) => tenant.clone(),
            None => only_tenant(&remote).await?,
        };
        remote.acting_for(&tenant)
    }
}

async fn only_tenant(remote: &Remote) -> anyhow::Result<String> {
    let tenants = rows(remote, "/v1/tenants", 20).await?.rows;
    let slugs: Vec<String> = tenants.iter().map(|tenant| text(&tenant["slug"])).collect();
    match &slugs[..] {
        [] => bail!("there are no tenants yet. hint: create one with `POST /v1/tenants`"),
        [one] => Ok(one.clone()),
        many => {
            bail!("there are several tenants. hint: choose one with --tenant: {}", many.join(", "))
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let status = self.status.map(|status| status.to_ascii_uppercase().replace('-', "_"));
        let filters = [("status", &status), ("externalId", &self.external_id)];
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
            return caught::letter(&remote, &self.outbox_id, self.acting.client.json).await;
        }
        let remote = self.acting.gateway().await?;
        let email = remote.get(&format!("/v1/emails/{}", part(&self.outbox_id))).await?;
        if self.acting.client.json { table::json(&email) } else { show::email(&email) }
    }
}
