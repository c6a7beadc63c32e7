//! The `gancho` binary: settings, boot, life and commands. The only crate that names a store.
//!
//! In reading order: [`database`] picks the store, [`gateway`] puts the parts together, [`lifecycle`]
//! says when to stop, [`commands`] are what a person types, [`receiver`] is the built-in one of
//! `gancho dev` and [`paint`] its colours.

mod commands;
mod database;
mod gateway;
mod lifecycle;
mod paint;
mod receiver;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A webhook gateway: sends signed webhooks for many tenants and never loses one.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(commands::dev::Dev),
    Pipe(commands::pipe::Pipe),
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{}error:{:#} {error:#}", paint::RED, paint::RED);
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_env("GANCHO_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Dev(dev) => dev.run().await,
            Command::Pipe(pipe) => pipe.run().await,
            Command::Bench(bench) => bench.run().await,
        }
    });
    // Reading standard input cannot be cancelled: do not wait for it.
    runtime.shutdown_background();
    done
}
