//! `gancho completions` and `gancho man`: generated from the command line itself.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Failure, reference, table};
use crate::cli::Cli;

/// Print a completion script for a shell.
///
/// For example, `gancho completions bash > ~/.local/share/bash-completion/completions/gancho`.
#[derive(Debug, Args)]
pub struct Completions {
    /// Shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Write manual pages to a directory.
///
/// For example, `gancho man ~/.local/share/man/man1`.
#[derive(Debug, Args)]
pub struct Man {
    /// Directory, created if it does not exist.
    directory: Option<PathBuf>,
    /// Print the reference of all commands (docs/cli.md) instead.
    #[arg(long)]
    reference: bool,
}

impl Completions {
    pub fn run(self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "gancho", &mut script);
        table::print(&String::from_utf8_lossy(&script))
    }
}

impl Man {
    pub fn run(self) -> anyhow::Result<()> {
        if self.reference {
            return table::print(&reference::text());
        }
        let Some(directory) = self.directory else {
            return Err(Failure::usage(
                "no directory is given. hint: gancho man ~/.local/share/man/man1",
            ));
        };
        let failed = || format!("cannot write manual pages to {}", directory.display());
        std::fs::create_dir_all(&directory).with_context(failed)?;
        clap_mangen::generate_to(Cli::command(), &directory).with_context(failed)?;
        let pages = std::fs::read_dir(&directory).with_context(failed)?.count();
        anstream::eprintln!(
            "{pages} files are in {}; see `man -M` and MANPATH",
            directory.display()
        );
        Ok(())
    }
}
