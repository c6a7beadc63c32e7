//! `gancho ledger prove`: proves that a checkpoint covers the line of a receipt.

use anyhow::{Context, bail};
use clap::Args;
use gancho_domain::ReceiptId;
use gancho_ledger::{Audit, AuditError, Line, Prover};

use super::{
    LedgerArgs,
    book::{Book, SignedCheckpoint},
    proof::Proof,
    walk::{WalkError, walk},
};
use crate::commands::{Failure, table};

#[derive(Debug, Args)]
pub struct Prove {
    /// Id of the receipt: rcp_…
    receipt: ReceiptId,
    #[command(flatten)]
    which: LedgerArgs,
}

impl Prove {
    pub async fn run(self) -> anyhow::Result<()> {
        let book = Book::open(&self.which).await?;
        let line = book.store.ledger_line_of(self.receipt.cast()).await?;
        let line = line
            .filter(|line| is_of(line, self.receipt))
            .with_context(|| format!("the receipt {} is not in the ledger", self.receipt))?;
        let Some(note) = covering(&book, line.number) else {
            bail!(
                "the receipt is line {}, which no checkpoint covers yet. hint: sign one with `gancho ledger checkpoint`",
                line.number
            );
        };
        let proof = proof(&book, line, note).await?;
        table::json(&proof.json())
    }
}

/// Whether the line is of this receipt. Reads the line itself: other columns in the database are not part of
/// the chain.
fn is_of(line: &Line, receipt: ReceiptId) -> bool {
    let entry: serde_json::Value = serde_json::from_slice(&line.entry).unwrap_or_default();
    entry["receipt"] == receipt.to_string()
}

/// Returns the smallest checkpoint that covers the line, which is the oldest.
fn covering(book: &Book, number: u64) -> Option<&SignedCheckpoint> {
    let all = book.notes.iter().filter(|note| note.checkpoint.size >= number);
    all.min_by_key(|note| (note.checkpoint.size, !note.is_filed))
}

/// Verifies the lines while it builds the proof: an invalid ledger proves nothing.
async fn proof(book: &Book, line: Line, note: &SignedCheckpoint) -> anyhow::Result<Proof> {
    let size = note.checkpoint.size;
    let broken = |what: String| {
        Failure::does_not_hold(format!(
            "the ledger is invalid, so it proves nothing: {what}. hint: run `gancho ledger verify`"
        ))
    };
    let audit =
        Audit::new(vec![note.checkpoint.clone()]).map_err(|error| broken(error.to_string()))?;
    let prover = Prover::new(line.number, size).context("the checkpoint is too small")?;
    let look = |(audit, prover): &mut (Audit, Prover), line: &Line| -> Result<(), AuditError> {
        audit.take(line)?;
        prover.push(line.leaf());
        Ok(())
    };
    let (audit, prover) = match walk(&book.store, Some(size), (audit, prover), look).await? {
        Ok(both) => both,
        Err(WalkError::AuditError(error, _)) => return Err(broken(error.to_string())),
        Err(WalkError::Unreadable { why, .. }) => return Err(broken(why)),
    };
    audit.finish().map_err(|error| broken(error.to_string()))?;
    let inclusion = prover.finish().context("lines are missing")?;
    let entry = String::from_utf8(line.entry).context("the line is not text")?;
    Ok(Proof { entry, inclusion, note: note.text.clone(), key: note.key })
}
