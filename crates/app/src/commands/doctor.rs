//! `gancho doctor`: checks whether a gateway can run on this machine, with one line for each check and its
//! remedy.
//!
//! `report` collects and prints, `machine` checks the system, `data` the data directory and the store,
//! `archive` the archive of dead letters, `receiving` the policy pack and the ledger, `peers` the servers
//! that the settings name, `server` whether a gateway runs.

mod archive;
mod data;
mod machine;
mod peers;
mod receiving;
mod report;
mod server;

use clap::Args;

use super::Failure;
use crate::{
    gateway::Setup,
    logs,
    settings::{self, Flags},
};
use report::Report;

/// Check this machine for running a gateway, and name the remedies.
///
/// Checks the configuration, the store, the disk, the archive, the policy pack, the ledger, the clock, DNS, TLS, file
/// handles, the key ring, whether the mail server, the core and the receivers of notices and traces accept connections,
/// and whether a gateway runs or its ports are free. Nothing is changed. Exits with 1 if a check fails.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Doctor {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut report = Report::new(self.json);
        match settings::load(&self.flags) {
            Ok(loaded) => {
                logs::start(loaded.settings.log_format, "error");
                let from = loaded.file.as_ref().map(|file| format!("{} is valid", file.display()));
                let from = from.unwrap_or_else(|| "valid; there is no gancho.toml".to_owned());
                match &loaded.warnings[..] {
                    [] => report.ok("configuration", from),
                    warnings => report.warn(
                        "configuration",
                        warnings.join("; "),
                        "correct or remove it; `gancho config` shows what is effective",
                    ),
                }
                if let Err(error) = Setup::of(&loaded) {
                    report.fail(
                        "configuration",
                        format!("{error:#}"),
                        "correct it; `gancho serve` does not start with it",
                    );
                }
                let settings = &loaded.settings;
                data::directory(&mut report, settings);
                data::disk(&mut report, settings);
                data::store(&mut report, settings).await;
                data::direct(&mut report, settings).await;
                data::replica(&mut report, settings).await;
                data::key_ring(&mut report, settings).await;
                data::admin_token(&mut report, settings);
                archive::archive(&mut report, settings).await;
                receiving::policy(&mut report, settings);
                receiving::ledger(&mut report, &self.flags, settings).await;
                machine::clock(&mut report);
                machine::dns(&mut report, settings).await;
                machine::tls(&mut report);
                machine::file_handles(&mut report, &loaded);
                peers::peers(&mut report, &loaded).await;
                server::running(&mut report, settings).await;
                server::notices(&mut report, settings);
            }
            Err(error) => {
                report.fail(
                    "configuration",
                    error.to_string(),
                    "correct it; `gancho config` checks it again",
                );
            }
        }
        match report.finish()? {
            0 => Ok(()),
            1 => Err(Failure::failed("a check failed")),
            failed => Err(Failure::failed(format!("{failed} checks failed"))),
        }
    }
}
