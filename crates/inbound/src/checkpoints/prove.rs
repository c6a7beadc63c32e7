//! Proves that a checkpoint covers the line of a receipt, in a running gateway. `gancho ledger check-proof`
//! verifies the proof without a gateway.

use gancho_domain::ReceiptId;
use gancho_ledger::{AuditError, Hash, Head, Line, Prover, Tree};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Checkpointer, CheckpointerError, PAGE, newest};
use crate::PublicKey;

/// The format of a proof. A later one gets another name.
pub const PROOF_FORM: &str = "gancho-ledger-proof/1";
/// Maximum lines of a checkpoint that a running gateway proves. Larger ones would take too long, because all
/// covered lines are read and verified.
pub const MAX_PROVED_LINES: u64 = 200_000;

#[derive(Debug, Error)]
pub enum ProofError {
    #[error("the receipt is not in the ledger")]
    NotInLedger,
    #[error("the receipt is line {0}, which no checkpoint covers yet")]
    NotCovered(u64),
    #[error("the checkpoint covers {0} lines, more than a running gateway verifies at once")]
    TooLong(u64),
    #[error(transparent)]
    Checkpointer(#[from] CheckpointerError),
}

impl Checkpointer {
    /// Proves that the oldest checkpoint that covers the receipt's line does so. Verifies every line on the
    /// way, so an invalid ledger proves nothing.
    pub async fn prove(&self, receipt: ReceiptId) -> Result<Value, ProofError> {
        let line = self.store.ledger_line_of(receipt.cast()).await.map_err(unreadable)?;
        let line = line.filter(|line| is_of(line, receipt)).ok_or(ProofError::NotInLedger)?;
        let covering = newest::after(&*self.store, line.number - 1).await.map_err(unreadable)?;
        let note = covering.ok_or(ProofError::NotCovered(line.number))?;
        let note = String::from_utf8_lossy(&note.body).into_owned();
        let opened = self.keys.verifiers().into_iter().find_map(|verifier| {
            let checkpoint = verifier.open(&note).ok()?;
            Some((checkpoint, PublicKey::from(verifier)))
        });
        let (checkpoint, key) = opened.ok_or(ProofError::NotCovered(line.number))?;
        let size = checkpoint.size;
        if size > MAX_PROVED_LINES {
            return Err(ProofError::TooLong(size));
        }
        let (prover, root) = self.pass_lines(line.number, size).await?;
        if root != checkpoint.root {
            let made_at = checkpoint.made_at;
            return Err(CheckpointerError::from(AuditError::Rewritten { size, made_at }).into());
        }
        let inclusion = prover.finish().ok_or(ProofError::NotInLedger)?;
        let path: Vec<_> = inclusion.path.iter().map(Hash::base64).collect();
        Ok(json!({
            "form": PROOF_FORM,
            "line": {"number": line.number, "entry": String::from_utf8_lossy(&line.entry)},
            "inclusion": {"size": size, "path": path},
            "checkpoint": note,
            "key": key.jwk(),
        }))
    }

    /// Verifies the first `size` lines, and returns their root.
    async fn pass_lines(&self, number: u64, size: u64) -> Result<(Prover, Hash), ProofError> {
        // One proof at a time, so that a caller who requests many waits for them.
        let _turn = self.proving.lock().await;
        let mut prover = Prover::new(number, size).ok_or(ProofError::NotInLedger)?;
        let (mut head, mut tree) = (Head::start(), Tree::default());
        while head.number < size {
            let max = PAGE.min((size - head.number) as usize);
            let lines = self.store.ledger_lines(head.number, max).await.map_err(unreadable)?;
            let Some(last) = lines.last() else { return Err(ProofError::NotInLedger) };
            for line in &lines {
                let leaf = line.leaf();
                if line.number != head.number + 1 || line.link != Hash::of_link(&head.link, &leaf) {
                    let error = AuditError::Changed { number: line.number };
                    return Err(CheckpointerError::from(error).into());
                }
                prover.push(leaf);
                tree.push(leaf);
                head = line.head();
            }
            debug_assert_eq!(last.number, head.number);
        }
        Ok((prover, tree.root()))
    }
}

/// Whether the line is of this receipt. Reads the line itself: other columns in the database are not part of
/// the chain.
fn is_of(line: &Line, receipt: ReceiptId) -> bool {
    let entry: Value = serde_json::from_slice(&line.entry).unwrap_or_default();
    entry["receipt"] == receipt.to_string()
}

fn unreadable(error: gancho_store::StoreError) -> ProofError {
    CheckpointerError::from(error).into()
}
