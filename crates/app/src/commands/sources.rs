//! `gancho sources`: partners that send webhooks to the gateway, their keys, and what they sent. A
//! running gateway does the work.
//!
//! In reading order: `draft` creates and changes a source, `keys` manages its keys, `receipts` lists what
//! was received and rejected, `receipt` shows and retries receipts, `show` prints all of it.

mod draft;
mod keys;
mod receipt;
mod receipts;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    client::{ClientArgs, rows},
    input::{self, confirmed},
    table,
};
use crate::remote::part;

/// Manage inbound sources: the partners that send webhooks to the gateway.
#[derive(Debug, Args)]
pub struct Sources {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all sources.
    List(ClientArgs),
    /// Show a source with its keys and counters.
    Show(ShowSource),
    /// Create a source. The partner posts to /webhooks/<PARTNER> on the ingest listener.
    Create(draft::Create),
    /// Update, pause or activate a source. Properties that are not given stay as they are.
    #[command(alias = "change")]
    Update(draft::Update),
    /// Delete a source and its keys. Its receipts stay in the ledger.
    Delete(Delete),
    /// Import the keys of many partners from JSON, creating sources as needed.
    Import(Import),
    /// Manage the keys of a source. Several keys can be valid at the same time, for rotation.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// List the receipts of a source, newest first.
    Receipts(receipts::Receipts),
    /// Show a receipt with its payload, its headers and all dispatch attempts.
    Receipt(receipt::Receipt),
    /// Dispatch receipts again: one, or all that match a filter.
    Retry(receipt::Retry),
    /// List rejected requests, newest first, with the internal reason that the sender did not see.
    Rejections(receipts::Rejections),
    /// Send a test event as the partner would, signed with one of its keys. Requires a local gateway.
    Simulate(receipts::Simulate),
}

#[derive(Debug, Args)]
struct ShowSource {
    /// Name of the partner.
    partner: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Delete {
    /// Name of the partner.
    partner: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Import {
    /// JSON file, or `-` for standard input: either {"webhook:partner:<name>:key:<id>": {"scheme": …}, …}
    /// or a list of {"key": …, "value": …} as exported by a key-value store.
    file: PathBuf,
    #[command(flatten)]
    client: ClientArgs,
}

/// More sources than a person would list.
const MAX_SOURCES: usize = 10_000;

impl Sources {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(client) => list(&client).await,
            Action::Show(one) => show(&one).await,
            Action::Create(create) => create.run().await,
            Action::Update(update) => update.run().await,
            Action::Delete(delete) => self::delete(&delete).await,
            Action::Import(import) => self::import(&import).await,
            Action::Keys(keys) => keys.run().await,
            Action::Receipts(receipts) => receipts.run().await,
            Action::Receipt(receipt) => receipt.run().await,
            Action::Retry(retry) => retry.run().await,
            Action::Rejections(rejections) => rejections.run().await,
            Action::Simulate(simulate) => simulate.run().await,
        }
    }
}

/// Returns the API path of a source.
fn path(partner: &str) -> String {
    format!("/v1/sources/{}", part(partner))
}

async fn list(client: &ClientArgs) -> anyhow::Result<()> {
    let remote = client.gateway().await?;
    let found = rows(&remote, "/v1/sources", MAX_SOURCES).await?;
    if client.json {
        return table::json(&found.json());
    }
    if found.rows.is_empty() {
        return table::say(
            "There are no sources yet. Create one with `gancho sources create <PARTNER>`.",
        );
    }
    show::sources(&found.rows).print()
}

async fn show(one: &ShowSource) -> anyhow::Result<()> {
    let remote = one.client.gateway().await?;
    let source = remote.get(&path(&one.partner)).await?;
    let keys = remote.get(&format!("{}/keys", path(&one.partner))).await?;
    if one.client.json {
        let mut all = source;
        all["keys"] = keys["data"].clone();
        return table::json(&all);
    }
    show::source(&source).print()?;
    table::say("")?;
    show::keys(keys["data"].as_array().map(Vec::as_slice).unwrap_or_default(), &one.partner)
}

async fn delete(delete: &Delete) -> anyhow::Result<()> {
    let (remote, partner) = (delete.client.gateway().await?, &delete.partner);
    let keys = remote.get(&format!("{}/keys", path(partner))).await?;
    let keys = table::many(keys["data"].as_array().map_or(0, Vec::len), "key");
    let question = format!(
        "Delete the source {partner} and {keys}? Receipts that are waiting for dispatch become dead letters."
    );
    confirmed(&question, delete.yes)?;
    remote.delete(&path(partner)).await?;
    if delete.client.json {
        return table::json(&json!({ "deleted": partner }));
    }
    table::say(&format!("Deleted {partner}. Its receipts stay in the ledger."))
}

async fn import(import: &Import) -> anyhow::Result<()> {
    let entries = input::json(&import.file)?;
    let mut draft = input::Draft::default();
    draft.put("entries", entries)?;
    let remote = import.client.gateway().await?;
    let done = remote.post("/v1/source-keys/import", &draft).await?;
    if import.client.json {
        return table::json(&done);
    }
    let number = |name: &str| done[name].as_u64().unwrap_or(0) as usize;
    table::say(&format!(
        "Imported {}; created {}.",
        table::many(number("keys"), "key"),
        table::many(number("sources"), "source")
    ))
}
