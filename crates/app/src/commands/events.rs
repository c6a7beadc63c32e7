//! `gancho events`: searches published events.

mod rejected;

use clap::{Args, Subcommand};
use serde_json::Value;

use self::rejected::Rejected;
use super::{
    client::{AnyTenantArgs, Window, filtered, rows, show_list},
    deliveries,
    table::{self, Facts, Table, age, cell, flexible, text, when},
};
use crate::remote::part;

/// Search published events.
///
/// `gancho publish` publishes them.
#[derive(Debug, Args)]
pub struct Events {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List events, newest first.
    List(List),
    /// Show an event with its data and its deliveries.
    Show(Show),
    /// Cancel the deliveries of an event that have not started, e.g. of a scheduled one.
    Cancel(Show),
    /// List events that were published from SQL and rejected, newest first; retry or delete one.
    Rejected(Rejected),
}

#[derive(Debug, Args)]
struct List {
    /// Only events of this type.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// Only events with your own id.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Only events that matched no endpoint.
    #[arg(long)]
    unmatched: bool,
    #[command(flatten)]
    window: Window,
    /// Maximum number of events.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Show {
    /// Id of the event: evt_…
    id: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Events {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => list.run().await,
            Action::Show(show) => show.run().await,
            Action::Cancel(event) => event.cancel().await,
            Action::Rejected(rejected) => rejected.run().await,
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let filters = [
            ("event_type", &self.event_type),
            ("external_id", &self.external_id),
            ("unmatched", &self.unmatched.then(|| "true".to_owned())),
            ("since", &self.window.since()),
            ("until", &self.window.until()),
        ];
        let found = rows(&remote, &filtered("/v1/events", &filters), self.limit).await?;
        show_list(&self.acting.client, &found, "No events found.", events)
    }
}

impl Show {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let event = remote.get(&format!("/v1/events/{}", part(&self.id))).await?;
        if self.acting.client.json {
            return table::json(&event);
        }
        Facts::default()
            .add("event", text(&event["id"]))
            .add("type", text(&event["type"]))
            .add("subject", text(&event["subject"]))
            .add("number", text(&event["sequence_number"]))
            .add("external id", text(&event["external_id"]))
            .add("test", if event["is_test"] == true { "yes" } else { "" })
            .add("published", when(&event["created_at"]))
            .print()?;
        table::say(&format!("\n{}\n", table::clean_lines(&format!("{:#}", event["data"]))))?;
        match event["deliveries"].as_array().map(Vec::as_slice) {
            None | Some([]) => table::say("It matched no endpoint."),
            Some(rows) => deliveries::table(rows).print(),
        }
    }
}

impl Show {
    async fn cancel(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let path = format!("/v1/events/{}/cancel", part(&self.id));
        let canceled = remote.post(&path, &serde_json::json!({})).await?;
        if self.acting.client.json {
            return table::json(&canceled);
        }
        let count = canceled["canceled"].as_u64().unwrap_or_default() as usize;
        let deliveries = if count == 1 { "delivery" } else { "deliveries" };
        table::say(&format!("Canceled {count} {deliveries} of {}.", self.id))
    }
}

fn events(rows: &[Value]) -> Table {
    let has_tenants = rows.iter().any(|row| row["tenant"].is_string());
    let heads: &'static [&'static str] = if has_tenants {
        &["event", "tenant", "type", "age", "deliveries", "subject"]
    } else {
        &["event", "type", "age", "deliveries", "subject"]
    };
    let mut shown = Table::new(heads);
    for row in rows {
        let mut cells = vec![cell(text(&row["id"]))];
        if has_tenants {
            cells.push(cell(text(&row["tenant"])));
        }
        let deliveries = match row["deliveries"].as_u64() {
            Some(0) => "none".to_owned(),
            _ => text(&row["deliveries"]),
        };
        cells.extend([
            flexible(text(&row["type"])),
            cell(age(&row["created_at"])),
            cell(deliveries),
            flexible(text(&row["subject"])),
        ]);
        shown.row(cells);
    }
    shown
}
