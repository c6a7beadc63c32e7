//! `gancho api-keys`: the credentials of a tenant.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{TenantArgs, rows, show_list},
    input::{self, Draft, confirmed},
    table::{self, Table, age, cell, flexible, state, text},
};
use crate::remote::part;

/// Manage the API keys of a tenant.
#[derive(Debug, Args)]
pub struct ApiKeys {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the keys, without their secrets.
    List(List),
    /// Create a key and print it. It is not shown again.
    Create(Create),
    /// Revoke a key. Requests with it are refused from now on.
    Revoke(Revoke),
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of keys.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
struct Create {
    /// Display name, e.g. the program that uses it.
    #[arg(long)]
    name: Option<String>,
    /// What the key may be used for: publish, read or manage. Can be repeated. Default: all three.
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
    scopes: Vec<String>,
    /// When the key stops working: a time, or a duration from now such as 90d. Default: never.
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
struct Revoke {
    /// Id of the key: key_…
    id: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    acting: TenantArgs,
}

impl ApiKeys {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.acting.gateway().await?;
                let found = rows(&remote, "/v1/api-keys", list.limit).await?;
                let none = "There are no API keys yet. Create one with `gancho api-keys create`.";
                show_list(&list.acting.client, &found, none, keys)
            }
            Action::Create(create) => create.run().await,
            Action::Revoke(revoke) => revoke.run().await,
        }
    }
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let mut draft = Draft::default();
        draft.maybe("name", self.name.as_ref())?;
        if !self.scopes.is_empty() {
            draft.put("scopes", &self.scopes)?;
        }
        draft.maybe("expires_at", self.expires.as_deref().map(input::time))?;
        let made = self.acting.gateway().await?.post("/v1/api-keys", &draft).await?;
        if self.acting.client.json {
            return table::json(&made);
        }
        // Only the key is written to standard output, so that a script can store it.
        table::say(&text(&made["key"]))?;
        anstream::eprintln!(
            "Created {} ({}). The key is shown only once.",
            text(&made["id"]),
            scopes(&made)
        );
        Ok(())
    }
}

impl Revoke {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        confirmed(
            &format!("Revoke the key {}? Programs that use it stop working.", self.id),
            self.yes,
        )?;
        remote.delete(&format!("/v1/api-keys/{}", part(&self.id))).await?;
        if self.acting.client.json {
            return table::json(&json!({ "revoked": self.id }));
        }
        table::say(&format!("Revoked {}.", self.id))
    }
}

fn keys(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["id", "name", "scopes", "state", "used", "age"]);
    for row in rows {
        let activity = match (&row["revoked_at"], &row["expires_at"]) {
            (Value::Null, expires) if age(expires).is_empty() => "active",
            (Value::Null, expires) if age(expires).starts_with("in ") => "active",
            (Value::Null, _) => "expired",
            _ => "revoked",
        };
        shown.row([
            cell(text(&row["id"])),
            flexible(text(&row["name"])),
            flexible(scopes(row)),
            state(activity),
            cell(age(&row["last_used_at"])),
            cell(age(&row["created_at"])),
        ]);
    }
    shown
}

fn scopes(key: &Value) -> String {
    let scopes = key["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    scopes.iter().map(text).collect::<Vec<_>>().join(", ")
}
