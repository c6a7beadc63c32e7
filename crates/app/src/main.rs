//! The `gancho` binary: settings, startup, shutdown and commands. The only crate that names a store.
//!
//! In reading order: [`settings`] reads the configuration; [`database`] opens the store,
//! [`gateway`] wires the parts together, [`feedback`] connects receiving and e-mail, [`servers`] runs the
//! listeners; [`declared_endpoints`] creates and updates the endpoints that the settings declare.
//! [`admin_token`] and [`key_ring`] are the two secrets of the data directory, each a [`private_file`];
//! [`key_rotator`] rotates the key ring and re-encrypts the [`sealed_records`]. [`logs`] sets up logging,
//! [`file_handles`] raises and divides the open-file limit, [`lifecycle`] handles signals, [`reload`] applies changed settings, [`service_manager`]
//! reports to systemd. [`commands`] has
//! one file per command; [`remote`] is their client of a running gateway; [`receiver`] is the built-in
//! webhook receiver of `gancho dev`, and [`paint`] its colors.

mod admin_token;
mod commands;
mod dashboard;
mod database;
mod declared_endpoints;
mod feedback;
mod file_handles;
mod gateway;
mod key_ring;
mod key_rotator;
mod lifecycle;
mod logs;
mod paint;
mod private_file;
mod receiver;
mod reload;
mod remote;
mod sealed_records;
mod servers;
mod service_manager;
mod settings;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Webhook gateway: sends signed webhooks, receives and verifies partners' webhooks, and sends e-mail.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(commands::serve::Serve),
    Dev(commands::dev::Dev),
    Config(commands::config::Config),
    Keys(commands::keys::Keys),
    Sources(commands::sources::Sources),
    Deliveries(commands::deliveries::Deliveries),
    Stats(commands::stats::Stats),
    Ledger(commands::ledger::Ledger),
    Emails(commands::emails::Emails),
    Users(commands::users::Users),
    Audit(commands::audit::Audit),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Pipe(commands::pipe::Pipe),
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<logs::LoggedError>() => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("{}error:{:#} {error:#}", paint::RED, paint::RED);
            let failure = error.downcast_ref::<commands::Failure>();
            failure.map_or(ExitCode::FAILURE, |failure| ExitCode::from(failure.code))
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    // Before anything is opened, whatever the command.
    file_handles::raise();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(serve) => serve.run().await,
            Command::Dev(dev) => dev.run().await,
            Command::Config(config) => config.run(),
            Command::Keys(keys) => keys.run().await,
            Command::Sources(sources) => sources.run().await,
            Command::Deliveries(deliveries) => deliveries.run().await,
            Command::Stats(stats) => stats.run().await,
            Command::Ledger(ledger) => ledger.run().await,
            Command::Emails(emails) => emails.run().await,
            Command::Users(users) => users.run().await,
            Command::Audit(audit) => audit.run().await,
            Command::Backup(backup) => backup.run().await,
            Command::Restore(restore) => restore.run().await,
            Command::Pipe(pipe) => pipe.run().await,
            Command::Bench(bench) => bench.run().await,
        }
    });
    // Reading standard input cannot be cancelled: do not wait for it.
    runtime.shutdown_background();
    done
}
