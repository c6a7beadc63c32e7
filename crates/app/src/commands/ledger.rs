//! `gancho ledger`: the chained record of what partners posted. It is read from the database itself, so
//! that it can be checked beside a gateway that runs, from a copy, and on another machine.
//!
//! In reading order: `book` opens the record with its checkpoints and keys, `walk` goes through its
//! lines; `verify` checks all of it, `prove` makes a proof of one receipt and `proof` is how it is
//! written and checked; `checkpoint` has the ledger signed for as it is now.

mod book;
mod checkpoint;
mod proof;
mod prove;
mod verify;
mod walk;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::settings::Flags;

/// Check and prove the record of what partners posted.
#[derive(Debug, Args)]
pub struct Ledger {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Walk every line and every checkpoint, and name the first that is wrong.
    ///
    /// Works beside a gateway that runs and on a copy (--database-url sqlite:COPY), without the key
    /// ring. Exit codes: 0 it holds, 1 it could not be checked, 3 it does not hold.
    Verify(verify::Verify),
    /// Print a proof that a receipt is in the ledger, which anyone can check without the database.
    Prove(prove::Prove),
    /// Check a proof that `gancho ledger prove` has printed. Needs nothing but the proof.
    ///
    /// Exit codes: 0 it proves what it says, 1 it could not be read, 3 it proves nothing.
    CheckProof(proof::CheckProof),
    /// Sign for the ledger as it is now. A gateway that runs does so by itself every minute.
    Checkpoint(checkpoint::Checkpoint),
}

/// Which ledger, and what it is checked against.
#[derive(Debug, Args)]
struct Which {
    /// The folder with the checkpoints that were kept outside the database. Left out: `checkpoints`
    /// in the data folder.
    #[arg(long, value_name = "FOLDER")]
    checkpoints: Option<PathBuf>,
    /// The gateway's public keys, as they are served at /.well-known/jwks.json. Left out: those in the
    /// database, which are only as good as the database.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// For programs: JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Ledger {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Verify(verify) => verify.run().await,
            What::Prove(prove) => prove.run().await,
            What::CheckProof(check) => check.run(),
            What::Checkpoint(checkpoint) => checkpoint.run().await,
        }
    }
}
