//! `gancho audit`: who changed what, or tried to. A running gateway does the work.

use clap::Args;
use serde_json::Value;

use super::{
    client::{ClientArgs, filtered, rows},
    table::{self, Table, cell, flexible, painted, text, when},
};
use crate::paint::{DIM, RED};

/// Show the audit log: administrative actions and logins, newest first.
#[derive(Debug, Args)]
pub struct Audit {
    /// Only acts on the data of this tenant: slug or id.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    tenant: Option<String>,
    /// Only acts of this user (by name) or API key (by id).
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this operation, e.g. `deleteWebhook` or `log_in`.
    #[arg(long)]
    operation: Option<String>,
    /// Only acts on the object with this id or name.
    #[arg(long, value_name = "ID")]
    resource: Option<String>,
    /// Only acts with this outcome: done or refused.
    #[arg(long)]
    outcome: Option<String>,
    /// Only acts at or after this time, e.g. 2026-11-15T10:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only acts before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Maximum number of acts.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    client: ClientArgs,
}

impl Audit {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway_for(self.tenant.as_deref()).await?;
        let filters = [
            ("actor", &self.actor),
            ("operation", &self.operation),
            ("resource", &self.resource),
            ("outcome", &self.outcome),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let found = rows(&remote, &filtered("/v1/audit", &filters), self.limit).await?;
        if self.client.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say("No acts match.");
        }
        show(&found.rows).print()?;
        if found.has_more {
            table::say(&format!("{DIM}There are more; see --limit.{DIM:#}"))?;
        }
        Ok(())
    }
}

fn show(acts: &[Value]) -> Table {
    let has_reasons = acts.iter().any(|act| act["reason"].is_string());
    let heads: &'static [&'static str] = if has_reasons {
        &["time (UTC)", "who", "operation", "on", "outcome", "address", "reason"]
    } else {
        &["time (UTC)", "who", "operation", "on", "outcome", "address"]
    };
    let mut shown = Table::new(heads);
    for act in acts {
        let outcome = match act["code"].as_str() {
            Some(code) => painted(format!("{} {code}", act["status"]), RED),
            None => cell("done"),
        };
        let mut cells = vec![
            cell(when(&act["at"])),
            cell(who(&act["actor"])),
            cell(text(&act["operation"])),
            cell(text(&act["resource"])),
            outcome,
            painted(text(&act["address"]), DIM),
        ];
        if has_reasons {
            cells.push(flexible(text(&act["reason"])));
        }
        shown.row(cells);
    }
    shown
}

/// Returns the name of a user, or the kind of other actors.
fn who(actor: &Value) -> String {
    match (actor["kind"].as_str(), actor["name"].as_str()) {
        (Some("user"), Some(name)) => name.to_owned(),
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (kind, _) => kind.unwrap_or_default().to_owned(),
    }
}
