//! Renders the status of the ledger.

use gancho_inbound::checkpoints::LedgerStatus;
use serde::Serialize;
use utoipa::ToSchema;

/// Status of the ledger of received webhooks.
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
    /// Name of the ledger in its checkpoints, e.g. `gancho/ledger`.
    pub origin: String,
    /// Number of lines that it covers.
    pub size: u64,
    /// Root of the Merkle tree over these lines (RFC 6962), in base64.
    pub root: String,
    /// When the checkpoint was signed, in RFC 3339.
    pub made_at: String,
}

/// Status of the ledger after a request for a checkpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct MadeCheckpoint {
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// Whether a checkpoint was signed; false if nothing was added since the previous one.
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
