//! `gancho sources`: the partners who may post webhooks to the gateway, their keys, and what they
//! posted. A gateway that runs does the work.
//!
//! In reading order: `draft` is what may be said of a source, `keys` are its keys, `seen` is what came
//! from it, `receipt` is one receipt and sending it again, `show` is how all of it looks.

mod draft;
mod keys;
mod receipt;
mod seen;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    given::{self, confirmed},
    running::{Running, rows},
    table,
};
use crate::remote::part;

/// Look after the partners who may post webhooks to the gateway.
#[derive(Debug, Args)]
pub struct Sources {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show every source.
    List(Running),
    /// Show one source with its keys and how much was received from it.
    Show(One),
    /// Make a source. Partners post to /webhooks/<PARTNER> on the ingest listener.
    Create(draft::Create),
    /// Change a source, pause it or let it go on. What is not named stays.
    Change(draft::Change),
    /// Delete a source with its keys. What was received stays in the ledger.
    Delete(Delete),
    /// Import the keys of many partners from a key-value store's JSON; sources are made as needed.
    Import(Import),
    /// Look after a source's keys. Several are good at a time, so that old and new overlap.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Show what was received from a source, newest first.
    Receipts(seen::Receipts),
    /// Show one receipt with its payload, its headers and every attempt to hand it on.
    Receipt(receipt::Receipt),
    /// Hand receipts to the core again: one, or those that fit a filter.
    Retry(receipt::Retry),
    /// Show what was turned away, newest first, with the reason that the sender was not told.
    Rejections(seen::Rejections),
    /// Send a test event as the partner would, signed with one of its keys. The gateway must run here.
    Simulate(seen::Simulate),
}

#[derive(Debug, Args)]
struct One {
    /// The partner's name.
    partner: String,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
struct Delete {
    /// The partner's name.
    partner: String,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
struct Import {
    /// The file; - is standard input. Either {"webhook:partner:<name>:key:<id>": {"scheme": …}, …}
    /// or the list of {"key": …, "value": …} of an export.
    file: PathBuf,
    #[command(flatten)]
    running: Running,
}

/// All of them: more sources than this are not looked at by eye.
const MOST: usize = 10_000;

impl Sources {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::List(running) => list(&running).await,
            What::Show(one) => show(&one).await,
            What::Create(create) => create.run().await,
            What::Change(change) => change.run().await,
            What::Delete(delete) => self::delete(&delete).await,
            What::Import(import) => self::import(&import).await,
            What::Keys(keys) => keys.run().await,
            What::Receipts(receipts) => receipts.run().await,
            What::Receipt(receipt) => receipt.run().await,
            What::Retry(retry) => retry.run().await,
            What::Rejections(rejections) => rejections.run().await,
            What::Simulate(simulate) => simulate.run().await,
        }
    }
}

/// Where the API has a source.
fn path(partner: &str) -> String {
    format!("/v1/sources/{}", part(partner))
}

async fn list(running: &Running) -> anyhow::Result<()> {
    let remote = running.gateway().await?;
    let found = rows(&remote, "/v1/sources", MOST).await?;
    if running.json {
        return table::json(&found.json());
    }
    if found.rows.is_empty() {
        return table::say(
            "There are no sources yet. `gancho sources create <PARTNER>` makes one.",
        );
    }
    show::sources(&found.rows).print()
}

async fn show(one: &One) -> anyhow::Result<()> {
    let remote = one.running.gateway().await?;
    let source = remote.get(&path(&one.partner)).await?;
    let keys = remote.get(&format!("{}/keys", path(&one.partner))).await?;
    if one.running.json {
        let mut all = source;
        all["keys"] = keys["data"].clone();
        return table::json(&all);
    }
    show::source(&source).print()?;
    table::say("")?;
    show::keys(keys["data"].as_array().map(Vec::as_slice).unwrap_or_default(), &one.partner)
}

async fn delete(delete: &Delete) -> anyhow::Result<()> {
    let (remote, partner) = (delete.running.gateway().await?, &delete.partner);
    let keys = remote.get(&format!("{}/keys", path(partner))).await?;
    let keys = table::many(keys["data"].as_array().map_or(0, Vec::len), "key");
    let question = format!(
        "Delete the source {partner} with {keys}? What still waits for dispatch becomes a dead letter."
    );
    confirmed(&question, delete.yes)?;
    remote.delete(&path(partner)).await?;
    if delete.running.json {
        return table::json(&json!({ "deleted": partner }));
    }
    table::say(&format!("{partner} is gone. What it sent stays in the ledger."))
}

async fn import(import: &Import) -> anyhow::Result<()> {
    let entries = given::json(&import.file)?;
    let mut draft = given::Draft::default();
    draft.put("entries", entries)?;
    let remote = import.running.gateway().await?;
    let done = remote.post("/v1/source-keys/import", &draft).await?;
    if import.running.json {
        return table::json(&done);
    }
    let number = |name: &str| done[name].as_u64().unwrap_or(0) as usize;
    table::say(&format!(
        "{} imported; {} made for them.",
        table::many(number("keys"), "key"),
        table::many(number("sources"), "source")
    ))
}
