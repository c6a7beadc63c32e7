//! The ledger: a record that cannot be changed unnoticed. No I/O, no clock, no database.
//!
//! In reading order: [`hash`] is how lines are hashed; [`chain`] links each line to the one before;
//! [`tree`] is the Merkle tree over all lines (RFC 6962), from which short proofs are made;
//! [`proof`] shows that one line is in it, or that a later tree holds an earlier one;
//! [`prover`] makes the first of them while the lines go by;
//! [`checkpoint`] is a signed statement of the tree's size and root, to be kept elsewhere;
//! [`audit`] walks the lines and names the first that is wrong.
//!
//! Anyone who can write to the database can rewrite the chain from any line on. What they cannot do is sign
//! a checkpoint, or reach those that were already handed out: a ledger is checked against its
//! checkpoints, and the lines after the last one are only as good as the chain.

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
pub use proof::{Consistency, Inclusion};
pub use prover::Prover;
pub use tree::Tree;
