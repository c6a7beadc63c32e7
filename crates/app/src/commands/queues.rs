//! `gancho queues`: the backlog of each lane.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{ClientArgs, ReasonArgs},
    table::{self, Table, cell, count, millis, state, text},
};
use crate::remote::part;

/// Show the backlog of the lanes (webhook, dispatch, email), and pause them.
///
/// Takes the operator's token.
#[derive(Debug, Args)]
pub struct Queues {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the lanes with their backlogs, and what is paused.
    List(ClientArgs),
    /// Pause a lane. New work is still accepted.
    Pause(Pause),
    /// Deliver again.
    Resume(LaneArgs),
}

#[derive(Debug, Args)]
struct LaneArgs {
    /// Lane: webhook, dispatch or email.
    lane: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    one: LaneArgs,
}

impl Queues {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(client) => {
                let queues = client.gateway().await?.get("/v1/queues").await?;
                if client.json { table::json(&queues) } else { show(&queues) }
            }
            Action::Pause(Pause { one, why }) => one.hold("pause", "Paused", why.body()).await,
            Action::Resume(one) => one.hold("resume", "Resumed", json!({})).await,
        }
    }
}

impl LaneArgs {
    async fn hold(self, verb: &str, done: &str, body: Value) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let path = format!("/v1/queues/{}/{verb}", part(&self.lane));
        let answer = remote.post(&path, &body).await?;
        if self.client.json {
            return table::json(&answer);
        }
        table::say(&format!("{done} the lane {}.", self.lane))
    }
}

fn show(queues: &Value) -> anyhow::Result<()> {
    let mut shown = Table::new(&["lane", "state", "pending", "in flight", "waiting", "oldest due"]);
    for row in queues["data"].as_array().into_iter().flatten() {
        let number = |name: &str| cell(count(row[name].as_u64().unwrap_or(0)));
        let late = match row["age_seconds"].as_f64() {
            Some(seconds) if seconds > 0.0 => millis(&json!(seconds * 1e3)),
            _ => String::new(),
        };
        shown.row([
            cell(text(&row["lane"])),
            state(if row["is_paused"] == true { "paused" } else { "active" }),
            number("pending"),
            number("in_flight"),
            number("waiting"),
            cell(late),
        ]);
    }
    shown.print()?;
    for (what, name) in [("tenant", "paused_tenants"), ("endpoint", "paused_webhooks")] {
        for id in queues[name].as_array().into_iter().flatten() {
            table::say(&format!("Paused {what}: {}", table::clean(&text(id))))?;
        }
    }
    Ok(())
}
