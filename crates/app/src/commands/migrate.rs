//! `gancho migrate`: migrates the database to the schema of this version. The gateway does so at startup; this lets an
//! operator choose the moment.

use clap::Args;
use gancho_store::SchemaVersion;
use serde_json::{Value, json};

use super::{Failure, table};
use crate::{
    database,
    gateway::database_url,
    key_ring, logs,
    settings::{self, Flags},
};

/// Migrate the database to the schema of this version.
///
/// `gancho serve` does so at startup, too. With several cells, all of them are migrated, the home cell first.
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

/// A database before and after.
struct MigrationResult {
    /// Empty for the database of the settings.
    cell: String,
    before: SchemaVersion,
    now: SchemaVersion,
}

impl Migrate {
    pub async fn run(self) -> anyhow::Result<()> {
        let settings = settings::load(&self.flags)?.settings;
        logs::start(settings.log_format, logs::QUIET);
        let url = database_url(&settings);
        let home = self.migrate(String::new(), &url).await?;
        let cells = if home.now.is_current() {
            database::other_cells(&url, || key_ring::of(&settings)).await?
        } else {
            Vec::new()
        };
        let mut failed = Vec::new();
        let mut migrated = vec![home];
        for (cell, url) in cells {
            let done = match url {
                Ok(url) => self.migrate(cell.clone(), &url).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(done) => migrated.push(done),
                Err(error) => failed.push(format!("cell {cell}: {error:#}")),
            }
        }
        self.report(&migrated, &failed)
    }

    async fn migrate(&self, cell: String, url: &str) -> anyhow::Result<MigrationResult> {
        let before = database::schema(url).await?;
        if self.check || before.found >= before.known {
            return Ok(MigrationResult { cell, before, now: before });
        }
        // Opening it runs the migrations.
        drop(database::open(url, database::Options::default()).await?);
        Ok(MigrationResult { cell, before, now: database::schema(url).await? })
    }

    fn report(&self, migrated: &[MigrationResult], failed: &[String]) -> anyhow::Result<()> {
        if self.json {
            let mut rows = migrated.iter().map(MigrationResult::json);
            let mut home = rows.next().unwrap_or_default();
            home["cells"] = rows.collect();
            table::json(&home)?;
        } else {
            for one in migrated {
                table::say(&one.sentence())?;
            }
        }
        if let Some(newer) = migrated.iter().find(|one| one.now.found > one.now.known) {
            return Err(Failure::failed(format!(
                "{} was written by a newer Gancho. hint: use that version or a later one",
                newer.subject("the")
            )));
        }
        if !failed.is_empty() {
            return Err(Failure::failed(failed.join("; ")));
        }
        match migrated.iter().find(|one| !one.now.is_current()) {
            None => Ok(()),
            Some(old) => Err(Failure::failed(format!(
                "{} is not up to date. hint: run `gancho migrate`",
                old.subject("the")
            ))),
        }
    }
}

impl MigrationResult {
    fn subject(&self, the: &str) -> String {
        match self.cell.as_str() {
            "" => format!("{the} database"),
            cell => format!("{the} cell {cell}"),
        }
    }

    fn json(&self) -> Value {
        let SchemaVersion { found, known } = self.now;
        let mut json = json!({
            "schema_before": self.before.found,
            "schema": found,
            "known": known,
            "is_up_to_date": found == known,
        });
        if !self.cell.is_empty() {
            json["name"] = self.cell.as_str().into();
        }
        json
    }

    fn sentence(&self) -> String {
        let (SchemaVersion { found, known }, before) = (self.now, self.before.found);
        let subject = self.subject("The");
        if found > known {
            return format!("{subject} has schema {found}, this version knows {known}.");
        }
        if found < known {
            let steps = table::many((known - found) as usize, "migration");
            return format!("{subject} has schema {found}; {steps} to {known} would run.");
        }
        if before < found {
            let ran = table::many((found - before) as usize, "migration");
            return match self.cell.as_str() {
                "" => format!("Ran {ran}: schema {before} is now schema {found}."),
                _ => format!("{subject}: ran {ran}, schema {before} is now schema {found}."),
            };
        }
        format!("{subject} is up to date: schema {found}.")
    }
}
