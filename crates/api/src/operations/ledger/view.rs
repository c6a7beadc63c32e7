//! How the ledger's standing is shown.

use gancho_inbound::checkpoints::LedgerStatus;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct LedgerView {
    /// How many lines there are.
    pub size: u64,
    /// The newest, whichever node made it; null where there is none.
    pub checkpoint: Option<CheckpointView>,
}

/// What is signed. The note with its signature is in the folder of checkpoints.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckpointView {
    pub origin: String,
    /// How many lines it speaks of.
    pub size: u64,
    /// The root of the Merkle tree over them (RFC 6962), in base64.
    pub root: String,
    pub made_at: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MadeCheckpoint {
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// False where nothing was added since the one before.
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
