//! `gancho replays`: jobs that send past deliveries or events again.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Failure,
    client::{AnyTenantArgs, TenantArgs, Window, rows, show_list},
    input::Draft,
    progress::Progress,
    table::{self, Facts, Table, age, cell, count, state, text, when},
};
use crate::remote::{Remote, part};

/// Send past deliveries or events again, in the background.
#[derive(Debug, Args)]
pub struct Replays {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List replays, newest first: those of all tenants, or with --tenant those of one.
    List(List),
    /// Start a replay of deliveries or events of a tenant.
    Create(Box<Create>),
    /// Show a replay and its progress.
    Show(Show),
    /// Cancel a replay. What was sent stays sent.
    Cancel(ReplayArgs),
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of replays.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Create {
    /// Replay events to the endpoint in --to, even if it was created later. Default: deliveries, to the
    /// endpoints that they went to.
    #[arg(long, requires = "to")]
    events: bool,
    /// Only deliveries to this endpoint: wh_…
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only deliveries with this status: pending, retrying, delivered or failed.
    #[arg(long)]
    status: Option<String>,
    /// Only events of this type.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// Only this event: evt_… Can be repeated.
    #[arg(long = "event", value_name = "ID")]
    event_ids: Vec<String>,
    #[command(flatten)]
    window: Window,
    /// Endpoint to send to, instead of the original one: wh_…
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// Replay everything. Required if no filter is given.
    #[arg(long)]
    all: bool,
    /// Maximum deliveries per second.
    #[arg(long, value_name = "COUNT")]
    rate: Option<u32>,
    /// Count what would be sent, without sending it.
    #[arg(long)]
    dry_run: bool,
    /// Wait until all are sent, with a progress bar.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
struct ReplayArgs {
    /// Id of the replay.
    id: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Show {
    /// Wait until it is finished, with a progress bar.
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    one: ReplayArgs,
}

const NONE: &str = "No replays found. Those of a tenant are listed with --tenant.";
/// Time between two reads of a running replay.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

impl Replays {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.acting.gateway().await?;
                let found = rows(&remote, "/v1/replays", list.limit).await?;
                show_list(&list.acting.client, &found, NONE, replays)
            }
            Action::Create(create) => create.run().await,
            Action::Show(show) => {
                let remote = show.one.acting.gateway().await?;
                let job = if show.wait {
                    follow(&remote, &show.one.id).await?
                } else {
                    remote.get(&path(&show.one.id)).await?
                };
                print(&job, show.one.acting.client.json)
            }
            Action::Cancel(one) => {
                let remote = one.acting.gateway().await?;
                let job = remote.post(&format!("{}/cancel", path(&one.id)), &json!({})).await?;
                print(&job, one.acting.client.json)
            }
        }
    }
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let mut filter = Draft::default();
        filter.maybe("webhook_id", self.endpoint.as_ref())?;
        filter.maybe("status", self.status.as_ref())?;
        filter.maybe("event_type", self.event_type.as_ref())?;
        if !self.event_ids.is_empty() {
            filter.put("event_ids", &self.event_ids)?;
        }
        filter.maybe("since", self.window.since())?;
        filter.maybe("until", self.window.until())?;
        if filter.is_empty() && !self.all {
            return Err(Failure::usage(
                "no filter is given. hint: give one, or --all to replay everything",
            ));
        }
        let mut draft = Draft::default();
        if self.events {
            draft.put("of", "events")?;
        }
        if !filter.is_empty() {
            draft.put("filter", &filter)?;
        }
        draft.maybe("all", self.all.then_some(true))?;
        draft.maybe("to", self.to.as_ref())?;
        draft.maybe("rate", self.rate)?;
        draft.maybe("dry_run", self.dry_run.then_some(true))?;
        let remote = self.acting.gateway().await?;
        let job = remote.post("/v1/replays", &draft).await?;
        // A dry run ends at once.
        let job = if self.wait && !self.dry_run {
            follow(&remote, &text(&job["id"])).await?
        } else {
            job
        };
        print(&job, self.acting.client.json)
    }
}

fn path(id: &str) -> String {
    format!("/v1/replays/{}", part(id))
}

/// Waits for the end of a replay, with a progress bar.
pub async fn follow(remote: &Remote, id: &str) -> anyhow::Result<Value> {
    let mut progress: Option<Progress> = None;
    loop {
        let job = remote.get(&path(id)).await?;
        if ["done", "canceled", "failed"].contains(&job["state"].as_str().unwrap_or_default()) {
            return Ok(job);
        }
        let number = |name: &str| job[name].as_u64().unwrap_or(0);
        let bar = progress.get_or_insert_with(|| Progress::new("replaying", number("total")));
        bar.at(number("done") + number("skipped") + number("failed"));
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn print(job: &Value, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return table::json(job);
    }
    let number = |name: &str| count(job[name].as_u64().unwrap_or(0));
    let at_least = if job["is_total_exact"] == false { "at least " } else { "" };
    Facts::default()
        .add("replay", text(&job["id"]))
        .add("state", text(&job["state"]))
        .add("of", text(&job["of"]).replace('_', " "))
        .add("to", text(&job["to"]))
        .add("dry run", if job["dry_run"] == true { "yes, nothing is sent" } else { "" })
        .add("total", format!("{at_least}{}", number("total")))
        .add("sent again", number("done"))
        .add("skipped", number("skipped"))
        .add("failed", number("failed"))
        .add("rate", format!("{}/s", number("rate")))
        .add("error", text(&job["error"]))
        .add("created", when(&job["created_at"]))
        .add("finished", when(&job["finished_at"]))
        .print()
}

fn replays(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["replay", "state", "of", "done", "total", "age"]);
    for row in rows {
        shown.row([
            cell(text(&row["id"])),
            state(&text(&row["state"])),
            cell(text(&row["of"]).replace('_', " ")),
            cell(count(row["done"].as_u64().unwrap_or(0))),
            cell(count(row["total"].as_u64().unwrap_or(0))),
            cell(age(&row["created_at"])),
        ]);
    }
    shown
}
