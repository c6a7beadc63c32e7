//! `gancho deliveries`: searches and follows deliveries.
//!
//! `show` prints one with its attempts, `tail` prints changes as they happen.

mod show;
mod tail;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{AnyTenantArgs, Window, filtered, rows, show_list},
    download::Download,
    table::{self, Table, age, cell, flexible, state, text},
};
use crate::remote::part;

/// Search, follow, retry and cancel deliveries.
#[derive(Debug, Args)]
pub struct Deliveries {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List deliveries, newest first.
    List(List),
    /// Show a delivery with its payload and all attempts.
    Show(Show),
    /// Retry a delivery now.
    Retry(DeliveryArgs),
    /// Stop retrying a delivery: one that waits fails with the code CANCELED. Other deliveries of its event go on.
    Cancel(DeliveryArgs),
    /// Write all deliveries that match as JSON lines, newest first, without payloads and attempts.
    Export(Export),
    /// Print what happens to deliveries, a line for each change, until interrupted. Reconnects when the
    /// connection is lost. Shows what the node that answers does.
    Tail(tail::Tail),
}

#[derive(Debug, Args)]
struct Filter {
    /// Only deliveries to this endpoint: wh_…
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only deliveries of this event: evt_…
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Only events of this type, or of all types with a prefix: invoice.paid, 'invoice.*'.
    #[arg(long = "type", value_name = "PATTERN")]
    event_type: Option<String>,
    /// Only events with your own id.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Only deliveries with this status: pending, retrying, delivered or failed.
    #[arg(long)]
    status: Option<String>,
    /// Lane: webhook, dispatch or email. Default: webhook.
    #[arg(long)]
    lane: Option<String>,
    /// Only deliveries of receipts from this partner, in the lane dispatch.
    #[arg(long)]
    partner: Option<String>,
    #[command(flatten)]
    window: Window,
}

impl Filter {
    fn path(&self, path: &str) -> String {
        let filters = [
            ("webhook_id", &self.endpoint),
            ("event_id", &self.event),
            ("event_type", &self.event_type),
            ("external_id", &self.external_id),
            ("status", &self.status),
            ("lane", &self.lane),
            ("partner", &self.partner),
            ("since", &self.window.since()),
            ("until", &self.window.until()),
        ];
        filtered(path, &filters)
    }
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    filter: Filter,
    /// Maximum number of deliveries.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Export {
    #[command(flatten)]
    download: Download,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct DeliveryArgs {
    /// Id of the delivery: dlv_…
    id: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Show {
    /// Show the headers and bodies of requests and responses too.
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    one: DeliveryArgs,
}

impl Deliveries {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => list.run().await,
            Action::Show(show) => show.run().await,
            Action::Retry(one) => one.retry().await,
            Action::Cancel(one) => one.cancel().await,
            Action::Export(export) => export.run().await,
            Action::Tail(tail) => tail.run().await,
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let found = rows(&remote, &self.filter.path("/v1/deliveries"), self.limit).await?;
        show_list(&self.acting.client, &found, "No deliveries found.", table)
    }
}

impl Export {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let path = self.filter.path("/v1/deliveries/export");
        self.download.run(&remote, &path, "delivery", 0).await
    }
}

impl Show {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.one.acting.gateway().await?;
        let delivery = remote.get(&path(&self.one.id)).await?;
        if self.one.acting.client.json {
            return table::json(&delivery);
        }
        show::delivery(&delivery, self.verbose)
    }
}

impl DeliveryArgs {
    async fn retry(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let delivery = remote.post(&format!("{}/retry", path(&self.id)), &json!({})).await?;
        if self.acting.client.json {
            return table::json(&delivery);
        }
        table::say(&format!(
            "{} is due now. `gancho deliveries show {0}` shows its attempts.",
            self.id
        ))
    }

    async fn cancel(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let delivery = remote.post(&format!("{}/cancel", path(&self.id)), &json!({})).await?;
        if self.acting.client.json {
            return table::json(&delivery);
        }
        table::say(&format!(
            "{} is canceled. `gancho deliveries retry {0}` sends it after all.",
            self.id
        ))
    }
}

fn path(id: &str) -> String {
    format!("/v1/deliveries/{}", part(id))
}

/// Returns a table with one line for each delivery.
pub fn table(rows: &[Value]) -> Table {
    let has_tenants = rows.iter().any(|row| row["tenant"].is_string());
    let heads: &'static [&'static str] = if has_tenants {
        &["delivery", "tenant", "status", "#", "age", "what", "why"]
    } else {
        &["delivery", "status", "#", "age", "what", "why"]
    };
    let mut shown = Table::new(heads);
    for row in rows {
        let what = ["event_type", "partner", "outbox_id"].map(|name| text(&row[name]));
        let mut cells = vec![cell(text(&row["id"]))];
        if has_tenants {
            cells.push(cell(text(&row["tenant"])));
        }
        cells.extend([
            state(&text(&row["status"])),
            cell(text(&row["attempts"])),
            cell(age(&row["created_at"])),
            flexible(what.into_iter().find(|what| !what.is_empty()).unwrap_or_default()),
            flexible(show::why(row)),
        ]);
        shown.row(cells);
    }
    shown
}
