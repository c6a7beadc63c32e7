//! `gancho ledger`: the tamper-evident ledger of received webhooks. It is read directly from the database,
//! so that it can be verified next to a running gateway, from a copy, and on another machine.
//!
//! In reading order: `book` opens the ledger with its checkpoints and keys, `walk` reads its lines;
//! `verify` verifies all of it, `prove` creates an inclusion proof of one receipt, `proof` encodes and
//! verifies such proofs, and `checkpoint` signs the current state.

mod book;
mod checkpoint;
mod proof;
mod prove;
mod verify;
mod walk;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::settings::Flags;

/// Verify the tamper-evident ledger of received webhooks, and prove receipts.
#[derive(Debug, Args)]
pub struct Ledger {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Verify every line and every checkpoint, and report the first one that is invalid.
    ///
    /// Works next to a running gateway and on a copy (--database-url sqlite:COPY), and needs no key ring.
    /// Exit codes: 0 valid, 1 could not be verified, 3 invalid.
    Verify(verify::Verify),
    /// Print a proof that a receipt is in the ledger. Anyone can verify it without the database.
    Prove(prove::Prove),
    /// Verify a proof printed by `gancho ledger prove`. Needs only the proof.
    ///
    /// Exit codes: 0 valid, 1 could not be read, 3 invalid.
    CheckProof(proof::CheckProof),
    /// Sign a checkpoint of the ledger now. A running gateway does this every minute.
    Checkpoint(checkpoint::Checkpoint),
}

/// Selects the ledger, and the checkpoints and keys to verify it with.
#[derive(Debug, Args)]
struct LedgerArgs {
    /// Directory with the checkpoints stored outside the database. Default: `checkpoints` in the data
    /// directory.
    #[arg(long, value_name = "DIR")]
    checkpoints: Option<PathBuf>,
    /// File with the gateway's public keys, as served at /.well-known/jwks.json. Default: the keys in the
    /// database, which are only as trustworthy as the database.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

/// Returns one line for `gancho doctor`; `None` if the ledger is empty. The inner error is that of an invalid
/// ledger.
pub async fn doctor(
    flags: &Flags,
    max_lines: u64,
) -> anyhow::Result<Result<Option<String>, String>> {
    let flags = flags.clone();
    let which = LedgerArgs { checkpoints: None, keys: None, json: false, flags };
    verify::summary(&which, max_lines).await
}

impl Ledger {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::Verify(verify) => verify.run().await,
            Action::Prove(prove) => prove.run().await,
            Action::CheckProof(check) => check.run(),
            Action::Checkpoint(checkpoint) => checkpoint.run().await,
        }
    }
}
