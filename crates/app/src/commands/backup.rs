//! `gancho backup`: a checked copy of the database while the gateway runs.

use std::{path::PathBuf, time::Instant};

use anyhow::Context;
use clap::Args;
use gancho_store_sqlite::backup;
use serde_json::json;

use super::{Failure, progress::Progress, table};
use crate::{
    gateway::database_url,
    key_ring,
    paint::{GREEN, YELLOW},
    sealed_records::keys_in_use,
    settings::{self, Flags},
};

/// Back up the database to a new file, also while the gateway runs. The key ring is not part of it.
#[derive(Debug, Args)]
pub struct Backup {
    /// File to create.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

/// The error for a PostgreSQL database.
const POSTGRES: &str = "gancho backup copies an embedded database. For PostgreSQL use its own tools. hint: `pg_dump --format=custom` for a copy, or continuous archiving (`archive_command` and `pg_basebackup`) to restore any point in time; see docs/operations.md";

impl Backup {
    pub async fn run(self) -> anyhow::Result<()> {
        let started = Instant::now();
        let loaded = settings::load(&self.flags)?;
        let from = embedded(&database_url(&loaded.settings))?;
        if !from.exists() {
            return Err(Failure::usage(format!(
                "there is no database at {}. hint: name its directory with --data-dir; `gancho dev` uses .gancho-dev",
                from.display()
            )));
        }
        let to = self.file.clone();
        let copied = tokio::task::spawn_blocking({
            let from = from.clone();
            move || {
                let mut bar: Option<Progress> = None;
                backup::back_up(&from, &to, |done, total| {
                    bar.get_or_insert_with(|| Progress::new("bytes", total)).at(done);
                })
            }
        });
        let summary = copied.await?.context("cannot back up the database")?;
        let store = gancho_store_sqlite::SqliteStore::open_to_read(&self.file)?;
        let keys: Vec<u32> = keys_in_use(&*store).await?.into_keys().collect();
        let ring = key_ring::path(&loaded.settings);
        let took = started.elapsed().as_secs_f64();
        if self.json {
            return table::json(&json!({
                "file": self.file,
                "bytes": summary.bytes,
                "seconds": took,
                "is_verified": true,
                "keys": keys,
            }));
        }
        anstream::println!(
            "{GREEN}backed up{GREEN:#} {} to {} ({}, {took:.1} s), verified",
            from.display(),
            self.file.display(),
            size(summary.bytes),
        );
        let ring = ring.map_or_else(|| "master_key".to_owned(), |path| path.display().to_string());
        anstream::println!(
            "{YELLOW}the key ring is not in it:{YELLOW:#} without {ring} no secret in it can be decrypted. Store a copy of it elsewhere."
        );
        Ok(())
    }
}

/// Returns the path of an embedded database.
pub fn embedded(url: &str) -> anyhow::Result<PathBuf> {
    let path = url.strip_prefix("sqlite:");
    path.map(PathBuf::from).ok_or_else(|| Failure::usage(POSTGRES))
}

pub fn size(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", units[unit]) }
}
