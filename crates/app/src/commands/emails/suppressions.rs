//! `gancho emails suppressions`: addresses to which no e-mails of a tenant are sent.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::{
    commands::{
        client::{TenantArgs, rows},
        input::{self, Draft},
        table::{self, Table, cell, many, text, when},
    },
    paint::DIM,
    remote::part,
};

#[derive(Debug, Subcommand)]
pub enum Suppressions {
    /// List suppressed addresses in alphabetical order.
    List(List),
    /// Suppress an address. E-mails to it fail immediately.
    Add(Add),
    /// Remove an address from the list, so that e-mails are sent to it again.
    Remove(Remove),
    /// Suppress many addresses from a file.
    Import(Import),
}

#[derive(Debug, Args)]
pub struct List {
    /// Maximum number of addresses.
    #[arg(long, default_value_t = 1_000)]
    limit: usize,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
pub struct Add {
    /// Address, e.g. ana@example.com.
    address: String,
    /// Reason: bounce, complaint or manual.
    #[arg(long, default_value = "manual")]
    reason: String,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
pub struct Remove {
    /// Address, as shown in the list.
    address: String,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
pub struct Import {
    /// File with one address per line, or `-` for standard input. Empty lines and lines that start with # are
    /// ignored.
    file: PathBuf,
    /// Reason: bounce, complaint or manual.
    #[arg(long, default_value = "manual")]
    reason: String,
    #[command(flatten)]
    acting: TenantArgs,
}

/// Maximum number of addresses per API call.
const AT_ONCE: usize = 10_000;

impl Suppressions {
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List(list) => list.run().await,
            Self::Add(add) => add.run().await,
            Self::Remove(remove) => remove.run().await,
            Self::Import(import) => import.run().await,
        }
    }
}

impl List {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let found = rows(&remote, "/v1/suppressions", self.limit).await?;
        if self.acting.client.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say("No addresses are suppressed.");
        }
        let mut shown = Table::new(&["address", "reason", "since", "detail"]);
        for row in &found.rows {
            shown.row([
                cell(text(&row["address"])),
                cell(text(&row["reason"])),
                cell(when(&row["since"])),
                cell(text(&row["detail"])),
            ]);
        }
        shown.print()?;
        if found.has_more {
            table::say(&format!("{DIM}… more addresses exist; use --limit to show them{DIM:#}"))?;
        }
        Ok(())
    }
}

impl Add {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let mut draft = Draft::default();
        draft.put("address", &self.address)?;
        draft.put("reason", &self.reason)?;
        let suppression = remote.post("/v1/suppressions", &draft).await?;
        if self.acting.client.json {
            return table::json(&suppression);
        }
        table::say(&format!(
            "Suppressed {} ({}).",
            table::clean(&text(&suppression["address"])),
            text(&suppression["reason"])
        ))
    }
}

impl Remove {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        remote.delete(&format!("/v1/suppressions/{}", part(&self.address))).await?;
        if self.acting.client.json {
            return table::json(&json!({ "removed": self.address }));
        }
        table::say(&format!("Removed {} from the suppression list.", self.address))
    }
}

impl Import {
    async fn run(self) -> anyhow::Result<()> {
        let file = input::text(&self.file)?;
        let lines = file.lines().map(str::trim);
        let addresses: Vec<&str> =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let remote = self.acting.gateway().await?;
        let mut added = 0;
        for some in addresses.chunks(AT_ONCE) {
            let mut draft = Draft::default();
            draft.put("addresses", some)?;
            draft.put("reason", &self.reason)?;
            let done = remote.post("/v1/suppressions/import", &draft).await?;
            added += done["added"].as_u64().unwrap_or(0) as usize;
        }
        if self.acting.client.json {
            return table::json(&json!({ "given": addresses.len(), "added": added }));
        }
        let known = addresses.len() - added.min(addresses.len());
        table::say(&format!(
            "Suppressed {}; {known} were already suppressed.",
            many(added, "address")
        ))
    }
}
