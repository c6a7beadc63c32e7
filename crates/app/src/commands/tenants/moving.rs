//! `gancho tenants move`: moves a tenant to another database of a gateway with several, while it is in use.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::super::{
    client::ClientArgs,
    failure::Failure,
    progress::Progress,
    table::{self, Facts, count, text},
};
use super::path;
use crate::remote::Remote;

/// Time between two reads of a move.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub struct Move {
    /// Slug or id of the tenant.
    tenant: String,
    /// Name of the cell to which it moves. See `gancho cells list`.
    #[arg(long, value_name = "CELL", required_unless_present_any = ["back", "status"], conflicts_with_all = ["back", "status"])]
    to: Option<String>,
    /// Take a move back that has not completed: the tenant stays where it is.
    #[arg(long, conflicts_with = "status")]
    back: bool,
    /// Show the last move of the tenant.
    #[arg(long)]
    status: bool,
    /// Return at once. The move continues on the server.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Move {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let tenant = remote.get(&path(&self.tenant)).await?;
        let (slug, path) = (text(&tenant["slug"]), format!("{}/move", path(&text(&tenant["id"]))));
        let begun = match &self.to {
            Some(to) => remote.post(&path, &json!({ "cell": to })).await?,
            None if self.back => remote.delete(&path).await?,
            None => return self.print(&slug, &remote.get(&path).await?),
        };
        if self.no_wait {
            return self.print(&slug, &begun);
        }
        let ended = follow(&remote, &path).await?;
        self.print(&slug, &ended)?;
        // Someone else may have decided otherwise meanwhile.
        let expected = if self.back { "taken_back" } else { "done" };
        if ended["state"] != expected {
            return Err(Failure::failed(format!("the move of {slug} is {}", word(&ended))));
        }
        Ok(())
    }

    fn print(&self, slug: &str, of: &Value) -> anyhow::Result<()> {
        if self.client.json {
            return table::json(of);
        }
        let (from, to) = (text(&of["from"]), text(&of["to"]));
        let said = match of["state"].as_str() {
            Some("done") => format!("Moved {slug} from {from} to {to}."),
            Some("taken_back") => {
                format!("{slug} stays in {from}. What was copied to {to} is removed.")
            }
            _ => format!(
                "{slug} moves from {from} to {to}. See `gancho tenants move {slug} --status`."
            ),
        };
        table::say(&said)?;
        facts(of).print()
    }
}

/// Waits for the end. Prints once what delays it.
async fn follow(remote: &Remote, path: &str) -> anyhow::Result<Value> {
    let mut progress = Progress::of_bytes("Rows", 0);
    let mut shown = Value::Null;
    loop {
        let now = remote.get(path).await?;
        if matches!(now["state"].as_str(), Some("done" | "taken_back")) {
            return Ok(now);
        }
        let rows = |name: &str| now[name].as_u64().unwrap_or(0);
        progress.at_bytes(rows("copied_rows") + rows("removed_rows"), 0);
        if !now["error"].is_null() && now["error"] != shown {
            shown = now["error"].clone();
            anstream::eprintln!("The move is tried again: {}", text(&shown));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn word(of: &Value) -> String {
    text(&of["state"]).replace('_', " ")
}

fn facts(of: &Value) -> Facts {
    let rows = |name: &str| count(of[name].as_u64().unwrap_or(0));
    let mut facts = Facts::default();
    facts
        .add("state", word(of))
        .add("rows copied", rows("copied_rows"))
        .add("rows removed", rows("removed_rows"));
    if let Some(closed) = of["closed_ms"].as_u64() {
        facts.add("not writable for", format!("{closed} ms"));
    }
    facts.add("took", format!("{} s", of["seconds"].as_u64().unwrap_or(0)));
    if !of["error"].is_null() {
        facts.add("error", text(&of["error"]));
    }
    facts
}
