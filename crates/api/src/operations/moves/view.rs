//! Renders a move.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{cells::MoveInfo, render::words};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TenantMove)]
pub struct MoveView {
    /// The cell in which the tenant was.
    pub from: String,
    /// The cell to which it moves.
    pub to: String,
    /// `copying` and `closing`: the tenant lives in the old cell, and the move can be taken back. `removing`: it lives in
    /// the new cell, and is removed from the old one. `taking_back`: it stays in the old cell, and its copy is removed.
    /// `done` and `taken_back` are the ends.
    #[schema(value_type = words::MoveState)]
    pub state: &'static str,
    /// Rows that were copied to the new cell so far, without those that changed meanwhile.
    pub copied_rows: u64,
    /// Rows that were removed so far: from the old cell, or the copies if the move is taken back.
    pub removed_rows: u64,
    /// For how many milliseconds nothing could be written for the tenant; null before that.
    pub closed_ms: Option<u64>,
    /// Seconds since the move began, or until it ended.
    pub seconds: u64,
    /// Why the move failed; null if it did not. It is tried again by itself.
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
