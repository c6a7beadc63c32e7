//! `gancho nodes`: the processes of the gateway.

use clap::Args;
use serde_json::Value;

use super::{
    client::{ClientArgs, all_rows, show_list},
    table::{Table, age, cell, flexible, state, text},
};

/// List the processes that share the store of the server.
///
/// Takes the operator's token.
#[derive(Debug, Args)]
pub struct Nodes {
    #[command(flatten)]
    client: ClientArgs,
}

impl Nodes {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let found = all_rows(&remote, "/v1/nodes").await?;
        show_list(&self.client, &found, "No node is running.", nodes)
    }
}

fn nodes(rows: &[Value]) -> Table {
    let mut shown = Table::new(&[
        "node",
        "name",
        "state",
        "roles",
        "version",
        "joined",
        "seen",
        "holds",
        "lag",
        "differs in",
    ]);
    for row in rows {
        let roles = texts(&row["roles"]);
        let this = if row["is_self"] == true { " (answered)" } else { "" };
        let differing = texts(&row["differing_settings"]);
        shown.row([
            cell(text(&row["id"])),
            flexible(format!("{}{this}", text(&row["name"]))),
            state(&text(&row["state"])),
            cell(roles.join(",")),
            cell(text(&row["version"])),
            cell(age(&row["joined_at"])),
            cell(age(&row["last_seen_at"])),
            cell(held(row)),
            cell(age(&row["oldest_due_at"])),
            flexible(differing.join(" ")),
        ]);
    }
    shown
}

/// Returns how many deliveries the node holds, and with cells in which.
fn held(row: &Value) -> String {
    let cells = row["cells"].as_array().into_iter().flatten();
    let parts: Vec<String> = cells
        .map(|cell| format!("{} {}", text(&cell["name"]), text(&cell["held_deliveries"])))
        .collect();
    let all = text(&row["held_deliveries"]);
    if parts.is_empty() { all } else { format!("{all} ({})", parts.join(", ")) }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}
