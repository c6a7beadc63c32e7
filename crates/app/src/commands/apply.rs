//! `gancho apply`, `gancho diff` and `gancho export`: the configuration of a gateway as a file.
//!
//! `declaration` reads the file and `node` writes it, `fields` says what each resource may declare, `current`
//! reads the gateway, `plan` compares the two, `execute` makes the changes.

mod current;
mod declaration;
mod execute;
mod fields;
mod node;
mod plan;

use std::{io::Write, path::PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::{
    Failure,
    client::ClientArgs,
    input::{self, confirmed},
    table,
};
use crate::remote::Remote;
use declaration::Declaration;
use plan::Plan;

/// Set up tenants, endpoints, event types and sources as a file declares them.
///
/// Shows the plan first, and changes only what differs: to apply a file twice changes nothing. Takes the
/// operator's token.
#[derive(Debug, Args)]
pub struct Apply {
    #[command(flatten)]
    file: FileArgs,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
}

/// Show what `gancho apply` would change.
#[derive(Debug, Args)]
pub struct Diff {
    #[command(flatten)]
    file: FileArgs,
    /// Exit with 1 if there is something to change.
    #[arg(long)]
    exit_code: bool,
}

/// Print what the gateway is set up with, as a file for `gancho apply`.
///
/// Secrets are not in it.
#[derive(Debug, Args)]
pub struct Export {
    /// File to write to, which must not exist yet. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only these tenants: slug. Can be repeated. Default: all, with the operator's event types and sources.
    #[arg(long = "tenant", value_name = "TENANT")]
    tenants: Vec<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct FileArgs {
    /// File (YAML, or JSON or TOML by its name), or `-` for YAML from standard input.
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// Also delete endpoints, event types and sources that the file does not declare, of the tenants that it
    /// declares. Tenants are never deleted.
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl FileArgs {
    async fn plan(&self) -> anyhow::Result<(Remote, Plan)> {
        let declared = Declaration::read(&self.file)?;
        let remote = self.client.gateway().await?;
        let current = current::read(&remote, Some(&declared)).await?;
        let plan = Plan::new(&declared, &current, self.prune)?;
        Ok((remote, plan))
    }
}

impl Diff {
    pub async fn run(self) -> anyhow::Result<()> {
        let (_, plan) = self.file.plan().await?;
        if self.file.client.json {
            table::json(&plan.json())?;
        } else {
            table::print(&plan.text())?;
        }
        if self.exit_code && !plan.is_empty() {
            return Err(Failure::failed(
                "the gateway differs from the file. hint: `gancho apply` changes it",
            ));
        }
        Ok(())
    }
}

impl Apply {
    pub async fn run(self) -> anyhow::Result<()> {
        let (remote, plan) = self.file.plan().await?;
        let as_json = self.file.client.json;
        if !as_json {
            table::print(&plan.text())?;
        }
        if plan.is_empty() {
            return if as_json { table::json(&json!({ "applied": [] })) } else { Ok(()) };
        }
        confirmed(&format!("Apply {}?", table::many(plan.changes.len(), "change")), self.yes)?;
        execute::run(&remote, &plan, as_json).await
    }
}

impl Export {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let mut current = current::read(&remote, None).await?;
        if !self.tenants.is_empty() {
            current.keep_tenants(&self.tenants)?;
        }
        let declaration = current.declaration();
        let text = if self.client.json {
            serde_json::to_string_pretty(&declaration)? + "\n"
        } else {
            let yaml = serde_saphyr::to_string(&declaration).context("cannot write YAML")?;
            format!("# Made by `gancho export`. Apply it with `gancho apply -f FILE`.\n{yaml}")
        };
        let Some(path) = &self.output else { return table::print(&text) };
        let mut file = input::new_file(path)?;
        let failed = || format!("cannot write {}", path.display());
        file.write_all(text.as_bytes()).with_context(failed)?;
        table::say(&format!("Wrote {}.", path.display()))
    }
}
