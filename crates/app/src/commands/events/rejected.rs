//! `gancho events rejected`: events that were published from SQL and rejected.

use clap::Args;
use serde_json::{Value, json};

use super::super::{
    client::{AnyTenantArgs, rows, show_list},
    table::{self, Table, age, cell, flexible, text},
};
use crate::remote::part;

#[derive(Debug, Args)]
pub struct Rejected {
    /// Check this event again, and accept it if it is valid now.
    #[arg(long, value_name = "ID", conflicts_with = "delete")]
    retry: Option<String>,
    /// Delete this event.
    #[arg(long, value_name = "ID")]
    delete: Option<String>,
    /// Maximum number of events.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Rejected {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        if let Some(id) = &self.retry {
            let path = format!("/v1/rejected-events/{}/retry", part(id));
            remote.post(&path, &json!({})).await?;
            return table::say(&format!("{id} will be checked again within seconds."));
        }
        if let Some(id) = &self.delete {
            remote.delete(&format!("/v1/rejected-events/{}", part(id))).await?;
            return table::say(&format!("Deleted {id}."));
        }
        let found = rows(&remote, "/v1/rejected-events", self.limit).await?;
        show_list(&self.acting.client, &found, "No rejected events.", events)
    }
}

fn events(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["event", "type", "code", "detail", "rejected"]);
    for row in rows {
        shown.row([
            cell(text(&row["id"])),
            cell(text(&row["type"])),
            cell(text(&row["code"])),
            flexible(text(&row["detail"])),
            cell(age(&row["rejected_at"])),
        ]);
    }
    shown
}
