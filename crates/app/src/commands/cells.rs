//! `gancho cells`: manages the databases of a gateway with several, through a running gateway.

mod evacuate;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    client::{ClientArgs, all_rows, show_list},
    input,
    table::{self, Table, cell, flexible, state, text},
};
use crate::remote::{Remote, part};

/// Manage the databases of a gateway that has several.
///
/// Takes the operator's token.
#[derive(Debug, Args)]
pub struct Cells {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the cells, and whether the server can use them.
    List(ClientArgs),
    /// Make an empty PostgreSQL database a cell. New tenants go to the cell with the fewest.
    Add(Add),
    /// Give no more new tenants to a cell. Those that live there stay, unless they are moved, too.
    Drain(Drain),
    /// List the tenants that live in a cell.
    Tenants(Tenants),
    /// Remove a cell that drains and has no tenants any more. Its database stays as it is.
    Remove(Remove),
}

#[derive(Debug, Args)]
struct Add {
    /// Name: lower-case letters, digits and `-`. It cannot be changed.
    name: String,
    /// Read the URL of the database from this file, or from standard input if it is `-`. It may have a password, so it
    /// is never an argument.
    #[arg(long, value_name = "FILE")]
    url_file: PathBuf,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Drain {
    /// Name of the cell.
    name: String,
    /// Accept new tenants again.
    #[arg(long, conflicts_with_all = ["move_tenants", "to"])]
    undo: bool,
    /// Also move the tenants that live there to other cells, and wait until all have left. Can be interrupted and run again.
    #[arg(long = "move")]
    move_tenants: bool,
    /// Move them to this cell. Default: each to the cell with the fewest.
    #[arg(long, value_name = "CELL", requires = "move_tenants")]
    to: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Tenants {
    /// Name of the cell.
    name: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Remove {
    /// Name of the cell.
    name: String,
    /// Also if it does not respond. Events that were published with SQL and wait in it are lost.
    #[arg(long)]
    lost: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Cells {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(client) => list(&client).await,
            Action::Add(add) => add.run().await,
            Action::Drain(drain) => drain.run().await,
            Action::Tenants(tenants) => tenants.run().await,
            Action::Remove(remove) => remove.run().await,
        }
    }
}

async fn list(client: &ClientArgs) -> anyhow::Result<()> {
    let remote = client.gateway().await?;
    let found = all_rows(&remote, "/v1/cells").await?;
    show_list(client, &found, "There are no cells.", cells)
}

fn cells(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["cell", "state", "tenants", "reason"]);
    for row in rows {
        let word = match (row["is_available"] == true, row["is_draining"] == true) {
            (false, _) => "unavailable",
            (true, true) => "draining",
            (true, false) => "active",
        };
        shown.row([
            cell(text(&row["name"])),
            state(word),
            cell(text(&row["tenants"])),
            flexible(text(&row["reason"])),
        ]);
    }
    shown
}

impl Add {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let mut draft = input::Draft::default();
        draft.put("name", &self.name)?;
        draft.put("url", input::secret(&self.url_file)?)?;
        let added = remote.post("/v1/cells", &draft).await?;
        if self.client.json {
            return table::json(&added);
        }
        let note =
            "All nodes use it within some seconds; new tenants go to the cell with the fewest.";
        table::say(&format!("Added the cell {}. {note}", self.name))
    }
}

impl Drain {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let changed = set_draining(&remote, &self.name, !self.undo).await?;
        if self.move_tenants {
            return evacuate::run(&remote, &self.name, self.to.as_deref(), self.client.json).await;
        }
        if self.client.json {
            return table::json(&changed);
        }
        let what = if self.undo { "gets new tenants again" } else { "gets no new tenants" };
        table::say(&format!("The cell {} {what}.", self.name))
    }
}

async fn set_draining(remote: &Remote, name: &str, is_draining: bool) -> anyhow::Result<Value> {
    let mut draft = input::Draft::default();
    draft.put("is_draining", is_draining)?;
    Ok(remote.patch(&path(name), &draft).await?)
}

fn path(name: &str) -> String {
    format!("/v1/cells/{}", part(name))
}

impl Tenants {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let found = all_rows(&remote, &format!("{}/tenants", path(&self.name))).await?;
        let none = format!("No tenants live in the cell {}.", self.name);
        show_list(&self.client, &found, &none, |rows| {
            let mut shown = Table::new(&["tenant", "state", "id"]);
            for row in rows {
                shown.row([
                    cell(text(&row["slug"])),
                    state(&text(&row["state"])),
                    cell(text(&row["id"])),
                ]);
            }
            shown
        })
    }
}

impl Remove {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let query = if self.lost { "?lost=true" } else { "" };
        let removed = remote.delete(&format!("{}{query}", path(&self.name))).await?;
        if self.client.json {
            return table::json(&removed);
        }
        table::say(&format!(
            "Removed the cell {}. Its database is as it was: drop it when nothing else is in it.",
            self.name
        ))
    }
}
