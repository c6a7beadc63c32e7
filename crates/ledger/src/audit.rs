//! Offline audit: each line must follow from the one before, and the whole must match the checkpoints.

use thiserror::Error;

use crate::{
    chain::{Head, Line},
    checkpoint::Checkpoint,
    tree::Tree,
};

/// What is wrong, and where it was first detected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AuditError {
    #[error("line {expected} is missing: found line {found} instead")]
    Hole { expected: u64, found: u64 },
    #[error("line {number} was changed: its link does not match the line before")]
    Changed { number: u64 },
    #[error(
        "the lines up to {size} do not match the checkpoint signed at {made_at}: the ledger was rewritten"
    )]
    Rewritten { size: u64, made_at: String },
    #[error(
        "the ledger ends at line {found}, but a checkpoint signed at {made_at} covers {size} lines: lines were removed from its end, or an old copy was restored"
    )]
    Short { found: u64, size: u64, made_at: String },
    #[error("two checkpoints of {size} lines have different roots: one of them is forged")]
    Forked { size: u64 },
}

/// Reads the lines in order, and stops at the first error.
#[derive(Debug)]
pub struct Audit {
    head: Head,
    tree: Tree,
    /// Checkpoints that are not reached yet, the nearest last.
    checkpoints: Vec<Checkpoint>,
    checked: usize,
}

impl Audit {
    /// Starts an audit. The checkpoints are trusted: verify them with the public key first.
    pub fn new(mut checkpoints: Vec<Checkpoint>) -> Result<Self, AuditError> {
        checkpoints.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
        for pair in checkpoints.windows(2) {
            if pair[0].size == pair[1].size && pair[0].root != pair[1].root {
                return Err(AuditError::Forked { size: pair[0].size });
            }
        }
        let mut audit =
            Self { head: Head::start(), tree: Tree::default(), checkpoints, checked: 0 };
        audit.compare()?;
        Ok(audit)
    }

    pub fn take(&mut self, line: &Line) -> Result<(), AuditError> {
        let expected = self.head.number + 1;
        if line.number != expected {
            return Err(AuditError::Hole { expected, found: line.number });
        }
        let leaf = line.leaf();
        if line.link != crate::Hash::of_link(&self.head.link, &leaf) {
            return Err(AuditError::Changed { number: line.number });
        }
        self.head = line.head();
        self.tree.push(leaf);
        self.compare()
    }

    /// Ends the audit after the last line: no checkpoint may cover more lines than there are.
    pub fn finish(self) -> Result<AuditReport, AuditError> {
        match self.checkpoints.first() {
            Some(furthest) => Err(AuditError::Short {
                found: self.head.number,
                size: furthest.size,
                made_at: furthest.made_at.clone(),
            }),
            None => Ok(AuditReport { head: self.head, tree: self.tree, checkpoints: self.checked }),
        }
    }

    fn compare(&mut self) -> Result<(), AuditError> {
        while let Some(next) = self.checkpoints.pop_if(|next| next.size == self.tree.size()) {
            if next.root != self.tree.root() {
                return Err(AuditError::Rewritten { size: next.size, made_at: next.made_at });
            }
            self.checked += 1;
        }
        Ok(())
    }
}

/// The result of a successful audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    pub head: Head,
    pub tree: Tree,
    /// How many checkpoints match.
    pub checkpoints: usize,
}
