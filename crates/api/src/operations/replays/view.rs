//! How a replay is shown.

use gancho_outbound::replay::{Replay, ReplayOf};
use serde::Serialize;
use utoipa::ToSchema;

use crate::show::Stamp;

#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayJob {
    pub id: String,
    /// Null where it is the operator's, over all tenants.
    pub tenant_id: Option<String>,
    /// `pending`, `running`, `done`, `cancelled` or `failed`.
    pub state: &'static str,
    /// `deliveries`, `events` or `dead_letters`.
    pub of: &'static str,
    /// To which webhook, where one was named.
    pub to: Option<String>,
    /// So many a second.
    pub rate: u32,
    pub dry_run: bool,
    /// How many there are to send.
    pub total: u64,
    /// False where counting stopped early: there are at least so many.
    pub is_total_exact: bool,
    /// Sent again.
    pub done: u64,
    /// Passed over: their webhook is gone or switched off, or they are in flight.
    pub skipped: u64,
    /// Could not be sent again.
    pub failed: u64,
    /// Why it failed as a whole.
    pub error: Option<String>,
    pub created_at: Stamp,
    pub started_at: Option<Stamp>,
    pub finished_at: Option<Stamp>,
}

impl From<Replay> for ReplayJob {
    fn from(replay: Replay) -> Self {
        Self {
            id: replay.id.to_string(),
            tenant_id: replay.tenant.map(|tenant| tenant.to_string()),
            state: replay.state.name(),
            of: match replay.filter.of {
                ReplayOf::Deliveries => "deliveries",
                ReplayOf::Events => "events",
                ReplayOf::DeadLetters => "dead_letters",
            },
            to: replay.to.map(|to| to.to_string()),
            rate: replay.rate,
            dry_run: replay.is_dry_run,
            total: replay.total,
            is_total_exact: replay.is_total_exact,
            done: replay.done,
            skipped: replay.skipped,
            failed: replay.failed,
            error: replay.error,
            created_at: Stamp(replay.created_at),
            started_at: replay.started_at.map(Stamp),
            finished_at: replay.finished_at.map(Stamp),
        }
    }
}
