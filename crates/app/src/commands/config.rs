//! `gancho config`: the settings as they count, and where each comes from.

use clap::Args;

use crate::settings::{self, Flags, reference, show};

/// Show the settings as they count, with secrets covered, and where each was written.
#[derive(Debug, Args)]
pub struct Config {
    /// For programs.
    #[arg(long)]
    json: bool,
    /// Print the reference of all settings instead (docs/config.md).
    #[arg(long)]
    reference: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Config {
    pub fn run(self) -> anyhow::Result<()> {
        if self.reference {
            anstream::print!("{}", reference::text());
            return Ok(());
        }
        let loaded = settings::load(&self.flags)?;
        if self.json {
            anstream::println!("{:#}", show::json(&loaded));
        } else {
            anstream::print!("{}", show::text(&loaded));
        }
        for warning in &loaded.warnings {
            anstream::eprintln!("warning: {warning}");
        }
        Ok(())
    }
}
