//! The `gancho` binary: settings, startup, shutdown and commands. The only crate that names a store.
//!
//! In reading order: [`settings`] reads the configuration; [`database`] opens the store,
//! [`gateway`] wires the parts together, [`feedback`] connects receiving and e-mail, [`servers`] runs the
//! listeners; [`declared_endpoints`] creates and updates the endpoints that the settings declare.
//! [`admin_token`] and [`key_ring`] are the two secrets of the data directory, each a [`private_file`];
//! [`key_rotator`] rotates the key ring and re-encrypts the [`sealed_records`]. [`logs`] sets up logging,
//! [`file_handles`] raises and divides the open-file limit, [`lifecycle`] handles signals, [`reload`] applies
//! changed settings, [`service_manager`] reports to systemd. [`cli`] is the command line and [`commands`] has
//! one file per command; [`remote`] is their client of a gateway, [`login_profiles`] has its servers and keys,
//! [`dev_gateway`] finds that of `gancho dev`; [`receiver`] is the built-in webhook receiver of `gancho dev`,
//! and [`paint`] its colors. [`api_backend`] is the API in this process, which [`dashboard`] and [`svix`] use.

mod api_backend;
mod cells;
mod cli;
mod commands;
mod dashboard;
mod database;
mod declared_endpoints;
mod dev_gateway;
mod feedback;
mod file_handles;
mod gateway;
mod key_ring;
mod key_rotator;
mod lifecycle;
mod login_profiles;
mod logs;
mod operator_token;
mod paint;
mod private_file;
mod receiver;
mod reload;
mod remote;
mod sealed_records;
mod servers;
mod service_manager;
mod settings;
mod svix;

use std::{pin::Pin, process::ExitCode};

use clap::Parser;
use cli::Cli;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let as_json = is_json_asked_for();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if commands::is_mistake(&error) => {
            return ExitCode::from(commands::report_usage(&error, as_json));
        }
        Err(error) => error.exit(),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(match error.downcast_ref::<logs::LoggedError>() {
            Some(logged) => logged.exit_code,
            None => commands::report(&error, as_json),
        }),
    }
}

/// Whether JSON is requested. Called before the command line is parsed, because its errors are JSON too.
fn is_json_asked_for() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

fn run(cli: Cli) -> anyhow::Result<()> {
    // Before anything is opened, for every command.
    file_handles::raise();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Boxed, so that the binary has one copy of all commands, not one for each kind of runtime.
    let command: Pin<Box<dyn Future<Output = anyhow::Result<()>>>> = Box::pin(cli.run());
    let done = runtime.block_on(command);
    // Reading standard input cannot be canceled, so it is not waited for.
    runtime.shutdown_background();
    done
}
