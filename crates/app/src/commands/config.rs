//! `gancho config`: the effective settings, and where each value comes from.

use clap::Args;

use super::table;
use crate::settings::{self, Flags, reference, show};

/// Show the effective configuration, with secrets masked, and where each value comes from.
#[derive(Debug, Args)]
pub struct Config {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the reference of all settings (docs/config.md) instead.
    #[arg(long)]
    reference: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Config {
    pub fn run(self) -> anyhow::Result<()> {
        if self.reference {
            return table::print(&reference::text());
        }
        let loaded = settings::load(&self.flags)?;
        if self.json {
            table::say(&format!("{:#}", show::json(&loaded)))?;
        } else {
            table::print(&show::text(&loaded))?;
        }
        for warning in &loaded.warnings {
            anstream::eprintln!("warning: {warning}");
        }
        Ok(())
    }
}
