//! `gancho restore`: replaces the database by a backup, while the gateway is stopped.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use gancho_access::operator_sessions;
use gancho_store_sqlite::{SqliteStore, backup};
use serde_json::json;

use super::{
    Failure,
    backup::{embedded, size},
    table,
};
use crate::{
    gateway::database_url,
    key_ring,
    paint::{GREEN, YELLOW},
    private_file,
    sealed_records::missing_keys,
    settings::{self, Flags},
};

/// Restore the database from a backup. Stop the gateway first. The present database is kept under another name.
#[derive(Debug, Args)]
pub struct Restore {
    /// Backup to restore.
    file: PathBuf,
    /// Restore although the key ring is missing: secrets cannot be decrypted until it is there.
    #[arg(long)]
    without_keys: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Restore {
    pub async fn run(self) -> anyhow::Result<()> {
        let loaded = settings::load(&self.flags)?;
        let to = embedded(&database_url(&loaded.settings))?;
        if !self.file.is_file() {
            let file = self.file.display();
            return Err(Failure::usage(format!("no file found at {file}. hint: check the path")));
        }
        let summary = backup::check(&self.file)?;
        // An older one is migrated, and its keys are checked, when the gateway starts.
        if !self.without_keys && summary.is_current {
            let store = SqliteStore::open_to_read(&self.file)?;
            let missing = missing_keys(&*store, &key_ring::of(&loaded.settings)?).await?;
            refuse_without(&missing)?;
        }
        private_file::folder(&loaded.settings.data_dir)?;
        let file = self.file.clone();
        let target = to.clone();
        // Sessions are dropped, because nobody knows which of them were ended since.
        let restore = move || backup::restore(&file, &target, &[operator_sessions::KIND]);
        let restoring = tokio::task::spawn_blocking(restore);
        let before = restoring.await?.context("cannot restore the database")?;
        if self.json {
            return table::json(&json!({
                "database": to,
                "bytes": summary.bytes,
                "previous": before,
            }));
        }
        anstream::println!(
            "{GREEN}restored{GREEN:#} {} from {} ({})",
            to.display(),
            self.file.display(),
            size(summary.bytes),
        );
        if let Some(before) = before {
            anstream::println!("the previous database is {}", before.display());
        }
        anstream::println!(
            "{YELLOW}note:{YELLOW:#} what was delivered after the backup is delivered again, with the same ids."
        );
        let checkpoints = loaded.settings.data_dir.join("checkpoints");
        if has_files(&checkpoints) {
            anstream::println!(
                "{YELLOW}note:{YELLOW:#} if `gancho ledger verify` fails now, the ledger has grown since the backup: move the checkpoints that are newer than the backup out of {}, then start the gateway.",
                checkpoints.display()
            );
        }
        Ok(())
    }
}

fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Refuses to restore what cannot be decrypted, because that would look like a success.
fn refuse_without(missing: &[u32]) -> anyhow::Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    bail!(
        "the backup is encrypted with key {} of a key ring that is not here. Nothing was changed. hint: copy master.key to the data directory (mode 0600) or set master_key_file; with --without-keys it is restored all the same",
        missing.join(", ")
    )
}
