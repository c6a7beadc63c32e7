//! Renders the status of the ledger.

use gancho_inbound::checkpoints::LedgerStatus;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ledger)]
pub struct LedgerView {
    /// Number of lines in the ledger.
    pub size: u64,
    /// The newest checkpoint of any node; null if there is none.
    pub checkpoint: Option<CheckpointView>,
}

/// A signed checkpoint. The signed note itself is in the checkpoint directory.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Checkpoint)]
pub struct CheckpointView {
    pub origin: String,
    /// Number of lines that it covers.
    pub size: u64,
    /// Root of the Merkle tree over these lines (RFC 6962), in base64.
    pub root: String,
    pub made_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MadeCheckpoint {
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// False if nothing was added since the previous checkpoint.
    pub is_new: bool,
}

impl From<LedgerStatus> for LedgerView {
    fn from(standing: LedgerStatus) -> Self {
        let checkpoint = standing.newest.map(|newest| CheckpointView {
            origin: newest.origin,
            size: newest.size,
            root: newest.root.base64(),
            made_at: newest.made_at,
        });
        Self { size: standing.size, checkpoint }
    }
}
