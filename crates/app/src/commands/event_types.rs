//! `gancho event-types`: the catalog of event types, with examples and schemas.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{AnyTenantArgs, filtered, rows, show_list},
    input::{self, Draft, confirmed},
    table::{self, Facts, Table, cell, flexible, text},
};
use crate::remote::part;

/// Manage the catalog of event types: the operator's, or with --tenant that of a tenant.
#[derive(Debug, Args)]
pub struct EventTypes {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List event types by name.
    List(List),
    /// Show an event type with its example and its schema.
    Show(EventTypeArgs),
    /// Register an event type.
    Create(Write),
    /// Change an event type. Properties that are not given stay as they are.
    Update(Write),
    /// Delete an event type from the catalog.
    Delete(Delete),
}

#[derive(Debug, Args)]
struct List {
    /// Only this catalog: email, agents, saas, operations, operator or tenant.
    #[arg(long)]
    catalog: Option<String>,
    /// Maximum number of event types.
    #[arg(long, default_value_t = 500)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct EventTypeArgs {
    /// Name of the event type, e.g. invoice.paid.
    name: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Write {
    /// Name of the event type, e.g. invoice.paid.
    name: String,
    /// Description for people.
    #[arg(long)]
    description: Option<String>,
    /// File with example data (JSON), or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    example_file: Option<PathBuf>,
    /// File with a JSON Schema that the data of events must match.
    #[arg(long, value_name = "FILE")]
    schema_file: Option<PathBuf>,
    /// No longer offer the type, and no longer enforce its schema: true or false.
    #[arg(long, value_name = "BOOL")]
    archived: Option<bool>,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Delete {
    /// Name of the event type.
    name: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl EventTypes {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.acting.gateway().await?;
                let path = filtered("/v1/webhooks/events", &[("catalog", &list.catalog)]);
                let found = rows(&remote, &path, list.limit).await?;
                show_list(&list.acting.client, &found, "There are no event types here.", types)
            }
            Action::Show(one) => {
                let found = one.acting.gateway().await?.get(&path(&one.name)).await?;
                if one.acting.client.json { table::json(&found) } else { show(&found) }
            }
            Action::Create(write) => write.create().await,
            Action::Update(write) => write.update().await,
            Action::Delete(delete) => delete.run().await,
        }
    }
}

/// Returns the API path of an event type.
pub fn path(name: &str) -> String {
    format!("/v1/webhooks/events/{}", part(name))
}

impl Write {
    fn draft(&self) -> anyhow::Result<Draft> {
        let mut draft = Draft::default();
        draft.maybe("description", self.description.as_ref())?;
        draft.maybe("example", self.example_file.as_deref().map(input::json).transpose()?)?;
        draft.maybe("schema", self.schema_file.as_deref().map(input::json).transpose()?)?;
        draft.maybe("is_archived", self.archived)?;
        Ok(draft)
    }

    async fn create(self) -> anyhow::Result<()> {
        let mut draft = self.draft()?;
        draft.put("name", &self.name)?;
        let made = self.acting.gateway().await?.post("/v1/webhooks/events", &draft).await?;
        if self.acting.client.json {
            return table::json(&made);
        }
        table::say(&format!("Created {}.", self.name))
    }

    async fn update(self) -> anyhow::Result<()> {
        let draft = self.draft()?;
        draft.require("--description")?;
        let remote = self.acting.gateway().await?;
        // The API replaces the whole type, so missing properties are taken from the old one.
        let mut whole = remote.get(&path(&self.name)).await?;
        let changes = serde_json::to_value(&draft)?;
        for (name, value) in changes.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        let body = json!({
            "description": whole["description"],
            "example": whole["example"],
            "schema": whole["schema"],
            "is_archived": whole["is_archived"],
        });
        let changed = remote.put(&path(&self.name), &body).await?;
        if self.acting.client.json {
            return table::json(&changed);
        }
        table::say(&format!("Changed {}.", self.name))
    }
}

impl Delete {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        confirmed(&format!("Delete the event type {}?", self.name), self.yes)?;
        remote.delete(&path(&self.name)).await?;
        if self.acting.client.json {
            return table::json(&json!({ "deleted": self.name }));
        }
        table::say(&format!("Deleted {}.", self.name))
    }
}

fn types(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["type", "catalog", "schema", "description"]);
    for row in rows {
        let schema = if row["schema"].is_null() { "" } else { "yes" };
        let archived = if row["is_archived"] == true { "(archived) " } else { "" };
        shown.row([
            cell(text(&row["name"])),
            cell(text(&row["catalog"])),
            cell(schema),
            flexible(format!("{archived}{}", text(&row["description"]))),
        ]);
    }
    shown
}

fn show(found: &Value) -> anyhow::Result<()> {
    Facts::default()
        .add("type", text(&found["name"]))
        .add("catalog", text(&found["catalog"]))
        .add("description", text(&found["description"]))
        .add("archived", if found["is_archived"] == true { "yes" } else { "" })
        .print()?;
    table::say(&format!("\nexample\n{:#}", found["example"]))?;
    if !found["schema"].is_null() {
        table::say(&format!("\nschema\n{:#}", found["schema"]))?;
    }
    Ok(())
}
