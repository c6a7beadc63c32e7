//! `gancho version`.

use clap::Args;
use serde_json::json;

use super::table;
use crate::database;

/// Print the version.
#[derive(Debug, Args)]
pub struct Version {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Version {
    pub fn run(self) -> anyhow::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        if !self.json {
            return table::say(&format!("gancho {version} ({os} {architecture})"));
        }
        let [sqlite, postgres] = database::schema_versions();
        table::json(&json!({
            "version": version,
            "os": os,
            "architecture": architecture,
            "schema": { "sqlite": sqlite, "postgres": postgres },
        }))
    }
}
