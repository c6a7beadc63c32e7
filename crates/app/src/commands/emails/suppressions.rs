//! `gancho emails suppressions`: addresses that a tenant's e-mails are not sent to.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::Acting;
use crate::{
    commands::{
        given::{self, Draft},
        running::rows,
        table::{self, Table, cell, many, text, when},
    },
    paint::DIM,
    remote::part,
};

#[derive(Debug, Subcommand)]
pub enum Suppressions {
    /// Show them, by address.
    List(List),
    /// Suppress an address: e-mails to it fail at once.
    Add(Add),
    /// Take an address off the list: e-mails go there again.
    Remove(Remove),
    /// Suppress many addresses, of each file all or none.
    Import(Import),
}

#[derive(Debug, Args)]
pub struct List {
    /// How many at most.
    #[arg(long, default_value_t = 1_000)]
    limit: usize,
    #[command(flatten)]
    acting: Acting,
}

#[derive(Debug, Args)]
pub struct Add {
    /// Such as ana@example.com.
    address: String,
    /// Why: bounce, complaint or manual.
    #[arg(long, default_value = "manual")]
    reason: String,
    #[command(flatten)]
    acting: Acting,
}

#[derive(Debug, Args)]
pub struct Remove {
    /// As it is shown in the list.
    address: String,
    #[command(flatten)]
    acting: Acting,
}

#[derive(Debug, Args)]
pub struct Import {
    /// One address a line; - is standard input. Empty lines and those that begin with # are passed over.
    file: PathBuf,
    /// Why: bounce, complaint or manual.
    #[arg(long, default_value = "manual")]
    reason: String,
    #[command(flatten)]
    acting: Acting,
}

/// As many as the API takes at a time.
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
        if self.acting.running.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say("No address is suppressed.");
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
            table::say(&format!("{DIM}… and more: --limit says how many are shown{DIM:#}"))?;
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
        let kept = remote.post("/v1/suppressions", &draft).await?;
        if self.acting.running.json {
            return table::json(&kept);
        }
        table::say(&format!(
            "{} is suppressed ({}).",
            table::clean(&text(&kept["address"])),
            text(&kept["reason"])
        ))
    }
}

impl Remove {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        remote.delete(&format!("/v1/suppressions/{}", part(&self.address))).await?;
        if self.acting.running.json {
            return table::json(&json!({ "removed": self.address }));
        }
        table::say(&format!("E-mails go to {} again.", self.address))
    }
}

impl Import {
    async fn run(self) -> anyhow::Result<()> {
        let file = given::text(&self.file)?;
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
        if self.acting.running.json {
            return table::json(&json!({ "given": addresses.len(), "added": added }));
        }
        let known = addresses.len() - added.min(addresses.len());
        table::say(&format!("{} suppressed; {known} were already.", many(added, "address")))
    }
}
