//! The ledger: a tamper-evident record. No I/O, no clock, no database.
//!
//! In reading order: [`hash`] hashes lines; [`chain`] links each line to the one before; [`tree`] is the
//! Merkle tree over all lines (RFC 6962), which allows short proofs; [`proof`] shows that one line is in it,
//! or that a later tree extends an earlier one; [`prover`] builds the former in one pass over the lines;
//! [`checkpoint`] is a signed statement of the tree's size and root, to be stored elsewhere; [`audit`]
//! verifies all lines and reports the first error.
//!
//! Anyone who can write to the database can rewrite the chain from any line on. But they cannot sign a
//! checkpoint, or change those that were already handed out. So a ledger is checked against its checkpoints,
//! and the lines after the last one are only as trustworthy as the chain.

pub mod audit;
pub mod chain;
pub mod checkpoint;
pub mod hash;
pub mod proof;
pub mod prover;
pub mod tree;

pub use audit::{Audit, AuditError};
pub use chain::{Head, Line};
pub use checkpoint::{Checkpoint, CheckpointError, Signer, Verifier};
pub use hash::Hash;
pub use proof::{ConsistencyProof, InclusionProof};
pub use prover::Prover;
pub use tree::Tree;
