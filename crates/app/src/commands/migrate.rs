//! `gancho migrate`: migrates the database to the schema of this version. The gateway does so at startup; this lets an
//! operator choose the moment.

use clap::Args;
use gancho_store::SchemaVersion;
use serde_json::json;

use super::{Failure, table};
use crate::{
    database,
    gateway::database_url,
    logs,
    settings::{self, Flags},
};

/// Migrate the database to the schema of this version.
///
/// `gancho serve` does so at startup, too.
#[derive(Debug, Args)]
pub struct Migrate {
    /// Only say what would be done. Exits with 1 if there is something to do.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Migrate {
    pub async fn run(self) -> anyhow::Result<()> {
        let settings = settings::load(&self.flags)?.settings;
        logs::start(settings.log_format, logs::QUIET);
        let url = database_url(&settings);
        let before = database::schema(&url).await?;
        if !self.check && before.found < before.known {
            // Opening it runs the migrations.
            drop(database::open(&url, database::Options::default()).await?);
        }
        let now = if self.check { before } else { database::schema(&url).await? };
        self.report(before, now)
    }

    fn report(&self, before: SchemaVersion, now: SchemaVersion) -> anyhow::Result<()> {
        let SchemaVersion { found, known } = now;
        let steps = known.saturating_sub(found);
        if self.json {
            table::json(&json!({
                "schema_before": before.found,
                "schema": found,
                "known": known,
                "is_up_to_date": found == known,
            }))?;
        } else if found > known {
            table::say(&format!("The database has schema {found}, this version knows {known}."))?;
        } else if steps > 0 {
            table::say(&format!(
                "The database has schema {found}; {} to {known} would run.",
                table::many(steps as usize, "migration")
            ))?;
        } else if before.found < found {
            let ran = table::many((found - before.found) as usize, "migration");
            table::say(&format!("Ran {ran}: schema {} is now schema {found}.", before.found))?;
        } else {
            table::say(&format!("The database is up to date: schema {found}."))?;
        }
        match found.cmp(&known) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(Failure::failed(
                "the database was written by a newer Gancho. hint: use that version or a later one",
            )),
            std::cmp::Ordering::Less => {
                Err(Failure::failed("the database is not up to date. hint: run `gancho migrate`"))
            }
        }
    }
}
