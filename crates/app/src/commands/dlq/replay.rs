//! `gancho dlq replay`: sends dead letters again.

use clap::Args;
use serde_json::{Value, json};

use super::{Filter, letters_of, path, total};
use crate::commands::{
    Failure,
    client::AnyTenantArgs,
    input::{Draft, confirmed},
    replays::follow,
    table::{self, text},
};

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Replay {
    /// Id of one delivery: dlv_… Default: all that match the filters.
    id: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Replay all of them. Required if no filter is given.
    #[arg(long)]
    all: bool,
    /// Send them to this endpoint of the tenant instead: wh_… Each leaves the dead letters at once.
    #[arg(long, value_name = "ENDPOINT")]
    to: Option<String>,
    /// Count what would be sent, without sending it.
    #[arg(long)]
    dry_run: bool,
    /// Maximum deliveries per second.
    #[arg(long, value_name = "COUNT")]
    rate: Option<u32>,
    /// Wait until all are sent, with a progress bar.
    #[arg(long)]
    wait: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Replay {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let as_json = self.acting.client.json;
        if let Some(id) = &self.id {
            let mut draft = Draft::default();
            draft.maybe("to", self.to.as_deref())?;
            let letter = remote.post(&format!("{}/replay", path(id)), &draft).await?;
            if as_json {
                return table::json(&letter);
            }
            if let Some(to) = &self.to {
                return table::say(&format!(
                    "{id} goes to {to} now. `gancho deliveries list --endpoint {to}` shows it there."
                ));
            }
            return table::say(&format!(
                "{id} is due now. `gancho deliveries show {id}` shows its attempts."
            ));
        }
        if self.filter.is_empty() && !self.all {
            return Err(Failure::usage(
                "no filter is given. hint: give one, or --all to replay all dead letters",
            ));
        }
        let total = total(&remote, &self.filter).await?;
        if self.dry_run {
            // The server would count the same by a job.
            if as_json {
                return table::json(&json!({ "dry_run": true, "total": total }));
            }
            return table::say(&format!("{} would be sent again.", letters_of(total)));
        }
        confirmed(&format!("Send {} again?", letters_of(total)), self.yes)?;
        let mut draft = Draft::default();
        draft.maybe("rate", self.rate)?;
        draft.maybe("to", self.to)?;
        let job = remote.post(&self.filter.path("/v1/dlq/replay"), &draft).await?;
        let job: Value = if self.wait { follow(&remote, &text(&job["id"])).await? } else { job };
        if as_json {
            return table::json(&job);
        }
        let id = text(&job["id"]);
        if self.wait {
            return table::say(&format!(
                "{id} is {}: {} sent again, {} skipped, {} failed.",
                text(&job["state"]),
                job["done"],
                job["skipped"],
                job["failed"]
            ));
        }
        table::say(&format!("Started {id}. `gancho replays show {id}` shows its progress."))
    }
}
