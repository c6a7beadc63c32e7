//! Renders a move.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{cells::MoveInfo, render::words};

/// The move of a tenant from one cell to another.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TenantMove)]
pub struct MoveView {
    /// Name of the cell that the tenant moves from.
    pub from: String,
    /// Name of the cell that the tenant moves to.
    pub to: String,
    /// How far the move is.
    #[schema(value_type = words::MoveState)]
    pub state: &'static str,
    /// Rows that were copied to the new cell so far, without those that changed meanwhile.
    pub copied_rows: u64,
    /// Rows that were removed so far: from the old cell, or the copies if the move is taken back.
    pub removed_rows: u64,
    /// How long writes for the tenant were blocked, in milliseconds; null before that.
    pub closed_ms: Option<u64>,
    /// Seconds since the move began, or until it ended.
    pub seconds: u64,
    /// Why the move failed; null if it did not. A failed move is retried automatically.
    pub error: Option<String>,
}

impl From<MoveInfo> for MoveView {
    fn from(of: MoveInfo) -> Self {
        Self {
            from: of.from,
            to: of.to,
            state: of.state.name(),
            copied_rows: of.copied_rows,
            removed_rows: of.removed_rows,
            closed_ms: of
                .closed
                .map(|closed| u64::try_from(closed.as_millis()).unwrap_or(u64::MAX)),
            seconds: of.age.as_secs(),
            error: of.error,
        }
    }
}
