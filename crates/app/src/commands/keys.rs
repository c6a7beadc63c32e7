//! `gancho keys`: the key ring that encrypts secrets in the database.
//!
//! If a gateway is running with these settings, it does the work, since it holds the database and the
//! ring. Otherwise this process does.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use gancho_vault::KeyRing;
use serde_json::{Value, json};

use super::{client, table};
use crate::{
    database,
    gateway::database_url,
    key_ring,
    key_rotator::KeyRotator,
    logs,
    remote::Remote,
    settings::{self, Flags},
};

/// Manage the keys that encrypt secrets in the database.
#[derive(Debug, Args)]
pub struct Keys {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the keys and how many records (endpoints, sources, source keys) each of them encrypts.
    List(KeyArgs),
    /// Add a key and re-encrypt every secret with it. Can be interrupted and run again at any time.
    Rotate(Rotate),
    /// Remove a key that no longer encrypts anything.
    Drop(Drop),
    /// Print a new key ring with one key, for a file or for GANCHO_MASTER_KEY.
    Generate,
}

#[derive(Debug, Args)]
struct KeyArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Args)]
struct Rotate {
    /// Add no key; re-encrypt with the newest key whatever is not encrypted with it yet.
    #[arg(long)]
    no_new_key: bool,
    #[command(flatten)]
    here: KeyArgs,
}

#[derive(Debug, Args)]
struct Drop {
    /// Number of the key.
    number: u32,
    #[command(flatten)]
    here: KeyArgs,
}

impl Keys {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::Generate => table::print(&KeyRing::generate()?.text()),
            Action::List(here) => list(&here).await,
            Action::Rotate(rotate) => self::rotate(&rotate).await,
            Action::Drop(drop) => drop_key(&drop).await,
        }
    }
}

/// Where the work is done: in a running gateway, or in this process.
enum KeyAccess {
    ClientArgs(Remote),
    KeyArgs(KeyRotator),
}

async fn through(here: &KeyArgs) -> anyhow::Result<KeyAccess> {
    let loaded = settings::load(&here.flags)?;
    let settings = &loaded.settings;
    logs::start(settings.log_format, logs::QUIET);
    if let Some(remote) = client::find(settings).await? {
        return Ok(KeyAccess::ClientArgs(remote));
    }
    let source = key_ring::of(settings)?;
    let url = database_url(settings);
    // A new database would show a ring that is in use as one without records.
    if let Some(path) = url.strip_prefix("sqlite:").filter(|path| !Path::new(path).exists()) {
        bail!(
            "there is no database at {path}. hint: set database_url (GANCHO_DATABASE_URL) and data_dir as the gateway does"
        );
    }
    let opened = database::open_all(&url, database::Options::default(), source).await?;
    Ok(KeyAccess::KeyArgs(KeyRotator::new(opened.store, opened.ring, opened.cells)))
}

async fn list(here: &KeyArgs) -> anyhow::Result<()> {
    let counts = match through(here).await? {
        KeyAccess::KeyArgs(key_rotator) => key_rotator.in_use().await?,
        KeyAccess::ClientArgs(remote) => counts_of(&remote.get("/v1/keys").await?)?,
    };
    let newest = counts.keys().copied().max();
    if here.json {
        let keys: Vec<Value> = counts
            .iter()
            .map(|(number, records)| json!({ "number": number, "records": records, "seals": Some(*number) == newest }))
            .collect();
        return table::json(&json!({ "keys": keys }));
    }
    let mut text = String::from("key    records\n");
    for (number, records) in counts {
        let note = if Some(number) == newest { "  current" } else { "" };
        let _ = writeln!(text, "{number:>3}  {records:>9}{note}");
    }
    table::print(&text)
}

fn counts_of(answer: &Value) -> anyhow::Result<BTreeMap<u32, u64>> {
    let keys = answer["keys"].as_array().context("unexpected response from the gateway")?;
    let one = |key: &Value| {
        Some((u32::try_from(key["number"].as_u64()?).ok()?, key["records"].as_u64()?))
    };
    Ok(keys.iter().filter_map(one).collect())
}

async fn rotate(rotate: &Rotate) -> anyhow::Result<()> {
    let (newest, resealed) = match through(&rotate.here).await? {
        KeyAccess::KeyArgs(key_rotator) => {
            let done = key_rotator.rotate(!rotate.no_new_key).await?;
            (u64::from(done.newest), done.resealed)
        }
        KeyAccess::ClientArgs(remote) => {
            let body = json!({ "new_key": !rotate.no_new_key });
            let done = remote.post("/v1/keys/rotate", &body).await?;
            (done["newest"].as_u64().unwrap_or(0), done["resealed"].as_u64().unwrap_or(0))
        }
    };
    if rotate.here.json {
        return table::json(&json!({ "newest": newest, "resealed": resealed }));
    }
    table::say(&format!(
        "Records re-encrypted: {resealed}. Everything is now encrypted with key {newest}."
    ))
}

async fn drop_key(drop: &Drop) -> anyhow::Result<()> {
    match through(&drop.here).await? {
        KeyAccess::KeyArgs(key_rotator) => key_rotator.drop_key(drop.number).await?,
        // It has the key in memory and would fail at its next start without warning.
        KeyAccess::ClientArgs(_) => {
            bail!("a gateway is running with this key ring. hint: stop it before you remove a key")
        }
    }
    if drop.here.json {
        return table::json(&json!({ "removed": drop.number }));
    }
    table::say(&format!("Removed key {} from the ring.", drop.number))
}
