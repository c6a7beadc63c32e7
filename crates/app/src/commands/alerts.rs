//! `gancho alerts`: conditions of the gateway that need a person, and silences.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Failure,
    client::{ClientArgs, all_rows, rows, show_list},
    input::Draft,
    table::{self, Table, age, ahead, cell, flexible, state, text},
};
use crate::remote::part;

/// Show alerts and their history, and silence them.
///
/// Takes the operator's token.
#[derive(Debug, Args)]
pub struct Alerts {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List alerts that fire, and those whose condition does not hold for long enough yet.
    List(ClientArgs),
    /// List what fired and was resolved, newest first.
    History(History),
    /// Send a test alert to every configured channel, and show what each answered.
    Test(ClientArgs),
    /// List the silences in force.
    Silences(ClientArgs),
    /// Keep alerts from being sent for a while. They are still evaluated and recorded.
    Silence(Silence),
    /// End a silence.
    Unsilence(Unsilence),
}

#[derive(Debug, Args)]
struct History {
    /// Maximum number of entries.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Silence {
    /// How long, e.g. 2h. At most 90 days.
    #[arg(long = "for", value_name = "DURATION")]
    duration: String,
    /// Only this rule, e.g. dead_letters_high.
    #[arg(long)]
    rule: Option<String>,
    /// Only this subject, e.g. a tenant.
    #[arg(long)]
    subject: Option<String>,
    /// Why, for others to read.
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Unsilence {
    /// Id of the silence: sil_…
    id: String,
    #[command(flatten)]
    client: ClientArgs,
}

impl Alerts {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(client) => {
                let found = all_rows(&client.gateway().await?, "/v1/alerts").await?;
                show_list(&client, &found, "No alert is firing.", alerts)
            }
            Action::History(list) => {
                let remote = list.client.gateway().await?;
                let found = rows(&remote, "/v1/alerts/history", list.limit).await?;
                show_list(&list.client, &found, "No alert has fired yet.", history)
            }
            Action::Test(client) => test(&client).await,
            Action::Silences(client) => {
                let found = all_rows(&client.gateway().await?, "/v1/alerts/silences").await?;
                show_list(&client, &found, "Nothing is silenced.", silences)
            }
            Action::Silence(silence) => silence.run().await,
            Action::Unsilence(one) => one.run().await,
        }
    }
}

impl Silence {
    async fn run(self) -> anyhow::Result<()> {
        let mut draft = Draft::default();
        draft.put("duration", &self.duration)?;
        draft.maybe("rule", self.rule.as_ref())?;
        draft.maybe("subject", self.subject.as_ref())?;
        draft.maybe("comment", self.comment.as_ref())?;
        let made = self.client.gateway().await?.post("/v1/alerts/silences", &draft).await?;
        if self.client.json {
            return table::json(&made);
        }
        let (id, until) = (text(&made["id"]), ahead(&made["until"]));
        table::say(&format!("Silenced by {id}; it ends {until}."))
    }
}

impl Unsilence {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        remote.delete(&format!("/v1/alerts/silences/{}", part(&self.id))).await?;
        if self.client.json {
            return table::json(&json!({ "deleted": self.id }));
        }
        table::say(&format!("Ended {}.", self.id))
    }
}

async fn test(client: &ClientArgs) -> anyhow::Result<()> {
    let tested = client.gateway().await?.post("/v1/alerts/test", &json!({})).await?;
    let channels = tested["channels"].as_array().map(Vec::as_slice).unwrap_or_default();
    if client.json {
        table::json(&tested)?;
        return outcome(channels);
    }
    if channels.is_empty() {
        return table::say(
            "No channel is configured. Set notify_url, notify_slack_url or notify_emails.",
        );
    }
    let mut shown = Table::new(&["channel", "result"]);
    for channel in channels {
        let error = text(&channel["error"]);
        let result = if error.is_empty() { "sent".to_owned() } else { error };
        shown.row([cell(text(&channel["channel"])), flexible(result)]);
    }
    shown.print()?;
    outcome(channels)
}

/// Fails if a channel does not work, so that a script notices it.
fn outcome(channels: &[Value]) -> anyhow::Result<()> {
    let failed = channels.iter().filter(|channel| !text(&channel["error"]).is_empty());
    let failed: Vec<String> = failed.map(|channel| text(&channel["channel"])).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let (count, all) = (failed.len(), channels.len());
    let what = format!("{count} of {all} channels failed: {}", failed.join(", "));
    Err(Failure::partly(format!("{what}. hint: correct its notify_ setting, then test again")))
}

fn alerts(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["state", "severity", "rule", "about", "since", "detail"]);
    for row in rows {
        let silenced = if row["silence_id"].is_null() { "" } else { " (silenced)" };
        shown.row([
            state(&format!("{}{silenced}", text(&row["state"]))),
            cell(text(&row["severity"])),
            cell(text(&row["rule"])),
            cell(text(&row["subject"])),
            cell(age(&row["since"])),
            flexible(text(&row["detail"])),
        ]);
    }
    shown
}

fn history(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["age", "change", "severity", "rule", "about", "detail"]);
    for row in rows {
        shown.row([
            cell(age(&row["at"])),
            state(&text(&row["change"])),
            cell(text(&row["severity"])),
            cell(text(&row["rule"])),
            cell(text(&row["subject"])),
            flexible(text(&row["detail"])),
        ]);
    }
    shown
}

fn silences(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["silence", "rule", "about", "ends", "by", "comment"]);
    for row in rows {
        let all = |name: &str| Some(text(&row[name])).filter(|one| !one.is_empty());
        shown.row([
            cell(text(&row["id"])),
            cell(all("rule").unwrap_or_else(|| "all".to_owned())),
            cell(all("subject").unwrap_or_else(|| "all".to_owned())),
            cell(ahead(&row["until"])),
            cell(text(&row["created_by"])),
            flexible(text(&row["comment"])),
        ]);
    }
    shown
}
