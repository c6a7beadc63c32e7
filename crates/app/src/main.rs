//! The `gancho` binary: settings, boot, life and commands. The only crate that names a store.
//!
//! In reading order: [`settings`] is what the operator has decided; [`database`] picks the store,
//! [`gateway`] puts the parts together, [`feedback`] joins receiving and e-mail, [`servers`] puts the API in
//! front of them; [`declared_endpoints`] keeps endpoints in step with the settings. [`admin_token`] and [`key_ring`] are the two secrets of the
//! data folder, each a [`private_file`]; [`key_rotator`] changes the second and what it has sealed
//! ([`sealed_records`]). [`logs`] turns settings into log lines; [`file_handles`] shares out what the system allows;
//! [`lifecycle`] says when to stop. [`commands`] are
//! what a person types; [`remote`] talks to a gateway that runs already; [`receiver`] is the built-in
//! one of `gancho dev` and [`paint`] its colours.

mod admin_token;
mod commands;
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
mod remote;
mod sealed_records;
mod servers;
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
    Ledger(commands::ledger::Ledger),
    Emails(commands::emails::Emails),
    Pipe(commands::pipe::Pipe),
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
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
            Command::Ledger(ledger) => ledger.run().await,
            Command::Emails(emails) => emails.run().await,
            Command::Pipe(pipe) => pipe.run().await,
            Command::Bench(bench) => bench.run().await,
        }
    });
    // Reading standard input cannot be cancelled: do not wait for it.
    runtime.shutdown_background();
    done
}
