//! `gancho emails`: what the outbox holds, addresses that nothing is sent to, and the letters that a
//! developer's gateway has caught. A gateway that runs does the work.
//!
//! In reading order: `send` submits one, `suppressions` are addresses that are spared, `caught` is what
//! the sink holds, `show` is how e-mails look.

mod caught;
mod send;
mod show;
mod suppressions;

use anyhow::bail;
use clap::{Args, Subcommand};

use super::{
    running::{Running, filtered, rows},
    table::{self, text},
};
use crate::{
    paint::DIM,
    remote::{Remote, part},
};

/// Send e-mails and see what became of them.
#[derive(Debug, Args)]
pub struct Emails {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show a tenant's e-mails, newest first. Recipients are masked.
    List(List),
    /// Show an e-mail with every attempt to send it.
    Show(Show),
    /// Send an e-mail. When its id is printed, it is on stable storage.
    Send(Box<send::Send>),
    /// Look after the addresses that a tenant's e-mails are not sent to.
    #[command(subcommand)]
    Suppressions(suppressions::Suppressions),
    /// Show the letters that were caught instead of sent, where e-mails go to the sink (`gancho dev`).
    Caught(caught::Caught),
}

/// For which tenant.
#[derive(Debug, Args)]
struct Acting {
    /// The tenant's slug or id. May be left out where there is only one.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    tenant: Option<String>,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
struct List {
    /// Only those that are pending, sent, failed or retry_scheduled.
    #[arg(long)]
    status: Option<String>,
    /// Only those with this id of the tenant's own.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// How many at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: Acting,
}

#[derive(Debug, Args)]
struct Show {
    /// The e-mail's id: out_…
    outbox_id: String,
    /// The letter itself, where it was caught by the sink.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    acting: Acting,
}

impl Emails {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::List(list) => list.run().await,
            What::Show(show) => show.run().await,
            What::Send(send) => send.run().await,
            What::Suppressions(suppressions) => suppressions.run().await,
            What::Caught(caught) => caught.run().await,
        }
    }
}

impl Acting {
    /// The gateway, as the operator who acts for the tenant.
    async fn gateway(&self) -> anyhow::Result<Remote> {
        let remote = self.running.gateway().await?;
        let tenant = match &self.tenant {
            Some(tenant) => tenant.clone(),
            None => only_tenant(&remote).await?,
        };
        match remote.acting_for(&tenant) {
            Some(remote) => Ok(remote),
            None => bail!("no tenant can be called so. hint: name its slug or id"),
        }
    }
}

async fn only_tenant(remote: &Remote) -> anyhow::Result<String> {
    let tenants = rows(remote, "/v1/tenants", 20).await?.rows;
    let slugs: Vec<String> = tenants.iter().map(|tenant| text(&tenant["slug"])).collect();
    match &slugs[..] {
        [] => bail!("there is no tenant yet. hint: make one with `POST /v1/tenants`"),
        [one] => Ok(one.clone()),
        many => {
            bail!("there are several tenants. hint: say which with --tenant: {}", many.join(", "))
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let status = self.status.map(|status| status.to_ascii_uppercase().replace('-', "_"));
        let filters = [("status", &status), ("externalId", &self.external_id)];
        let found = rows(&remote, &filtered("/v1/emails", &filters), self.limit).await?;
        if self.acting.running.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say("There are no such e-mails.");
        }
        show::emails(&found.rows).print()?;
        if found.has_more {
            table::say(&format!("{DIM}… and older ones: --limit says how many are shown{DIM:#}"))?;
        }
        Ok(())
    }
}

impl Show {
    async fn run(self) -> anyhow::Result<()> {
        if self.raw {
            let remote = self.acting.running.gateway().await?;
            return caught::letter(&remote, &self.outbox_id, self.acting.running.json).await;
        }
        let remote = self.acting.gateway().await?;
        let email = remote.get(&format!("/v1/emails/{}", part(&self.outbox_id))).await?;
        if self.acting.running.json { table::json(&email) } else { show::email(&email) }
    }
}
