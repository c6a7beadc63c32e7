//! `gancho ledger checkpoint`: a running gateway signs, or this process if there is none.

use std::{path::Path, sync::Arc};

use anyhow::bail;
use clap::Args;
use gancho_domain::{Clock, SystemClock};
use gancho_inbound::{
    Checkpointer, CheckpointerError, SigningKeys,
    checkpoints::{CheckpointSettings, LedgerStatus, ORIGIN},
};
use serde_json::{Value, json};

use crate::{
    commands::{
        Failure, client,
        table::{self, Facts, many, text},
    },
    database,
    gateway::database_url,
    key_ring, logs,
    settings::{self, Flags, Settings},
};

#[derive(Debug, Args)]
pub struct Checkpoint {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Checkpoint {
    pub async fn run(self) -> anyhow::Result<()> {
        let settings = settings::load(&self.flags)?.settings;
        logs::start(settings.log_format, logs::QUIET);
        let made = match client::find(&settings).await? {
            Some(remote) => match remote.post("/v1/ledger/checkpoint", &json!({})).await {
                Err(error) if error.code() == "ledger_broken" => {
                    return Err(Failure::does_not_hold(error.to_string()));
                }
                other => other?,
            },
            None => here(&settings).await?,
        };
        if self.json {
            return table::json(&made);
        }
        print_checkpoint(&made)
    }
}

/// Signs with the keys, and writes to the directory, of a gateway with these settings.
async fn here(settings: &Settings) -> anyhow::Result<Value> {
    let url = database_url(settings);
    // A typo in the path must not create an empty database.
    if url.strip_prefix("sqlite:").is_some_and(|path| !Path::new(path).exists()) {
        bail!(
            "no gateway is running on {} and there is no database. hint: select the data directory with --data-dir",
            settings.api_listen
        );
    }
    let source = key_ring::of(settings)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    database::refuse_without_ring(&url, &source).await?;
    let store = database::open(&url, database::Options::default()).await?;
    let ring = source.open(&*store).await?;
    let keys = SigningKeys::open(store.clone(), ring.keys.clone(), clock.clone()).await;
    let keys = Arc::new(keys.map_err(|error| ring.explain(error.into()))?);
    let folder = CheckpointSettings::new(ORIGIN, settings.data_dir.join("checkpoints"));
    let checkpointer = Checkpointer::open(store, keys, clock, folder);
    let made = match checkpointer.run_once(false).await {
        Err(error @ (CheckpointerError::AuditError(_) | CheckpointerError::Foreign(_))) => {
            return Err(Failure::does_not_hold(error.to_string()));
        }
        other => other?,
    };
    let LedgerStatus { size, newest } = checkpointer.status().await?;
    let checkpoint = newest.map(|newest| {
        json!({
            "origin": newest.origin,
            "size": newest.size,
            "root": newest.root.base64(),
            "made_at": newest.made_at,
        })
    });
    Ok(json!({ "size": size, "checkpoint": checkpoint, "is_new": made.is_some() }))
}

fn print_checkpoint(made: &Value) -> anyhow::Result<()> {
    let checkpoint = &made["checkpoint"];
    if checkpoint.is_null() {
        return table::say("The ledger is empty; there is nothing to sign.");
    }
    let lines = many(checkpoint["size"].as_u64().unwrap_or(0) as usize, "line");
    table::say(&if made["is_new"] == true {
        format!("Signed a checkpoint of {lines}.")
    } else {
        format!("Nothing was added since the last checkpoint, which covers {lines}.")
    })?;
    Facts::default()
        .add("root", text(&checkpoint["root"]))
        .add("signed at", table::when(&checkpoint["made_at"]))
        .add("of", text(&checkpoint["origin"]))
        .print()
}
