//! Renders a replay.

use gancho_outbound::replay::{Replay, ReplayItems, ReplayOutcomes};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    problem::Problem,
    render::{Timestamp, words},
};

/// A background job that sends past deliveries or events again.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayJob {
    /// Id of the replay (`rpl_…`).
    pub id: String,
    /// Slug of the tenant. Present only if the operator reads replays of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
    /// Id of the tenant; null for a replay of the operator over all tenants.
    pub tenant_id: Option<String>,
    /// State of the replay.
    #[schema(value_type = words::ReplayState)]
    pub state: &'static str,
    /// What is sent again.
    #[schema(value_type = words::ReplayKind)]
    pub of: &'static str,
    /// Id of the webhook that everything is sent to; null if deliveries go to their original targets.
    pub to: Option<String>,
    /// Maximum deliveries per second.
    pub rate: u32,
    /// Whether the replay only counts what would be sent.
    pub dry_run: bool,
    /// Number of deliveries to send; 0 until they are counted.
    pub total: u64,
    /// False if counting stopped early: `total` is then a lower bound.
    pub is_total_exact: bool,
    /// Number of deliveries sent again.
    pub done: u64,
    /// Number of deliveries skipped because they are in flight or their webhook is deleted or disabled.
    pub skipped: u64,
    /// Number of deliveries that could not be sent again.
    pub failed: u64,
    /// Outcomes of the deliveries that were sent again. Null if they were not counted: in lists, and in responses that
    /// create or cancel a replay.
    pub outcomes: Option<ReplayOutcomeCounts>,
    /// Why the replay as a whole failed; null if it did not.
    pub error: Option<String>,
    /// When the replay was created.
    pub created_at: Timestamp,
    /// When the replay started; null if it has not started.
    pub started_at: Option<Timestamp>,
    /// When the replay ended; null if it has not ended.
    pub finished_at: Option<Timestamp>,
}

/// Current states of the deliveries of a replay.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayOutcomeCounts {
    /// Number of deliveries that succeeded.
    pub delivered: u64,
    /// Number of deliveries that failed permanently again.
    pub failed: u64,
    /// Number of deliveries that are pending, in flight or waiting for a retry.
    pub waiting: u64,
    /// Number of deliveries that were counted: the first 5,000 that were sent. Those that have been pruned since are in
    /// none of the counts.
    pub of: u64,
}

impl ReplayJob {
    /// The answer to a call that created it. One of a dry run is not stored.
    pub fn accepted(self) -> Result<Answer, Problem> {
        let answer = Answer::accepted(&self)?;
        Ok(if self.dry_run { answer.of_dry_run() } else { answer })
    }

    pub fn with_outcomes(self, found: ReplayOutcomes) -> Self {
        let counts = found.counts;
        let outcomes = ReplayOutcomeCounts {
            delivered: counts.delivered,
            failed: counts.failed,
            waiting: counts.waiting,
            of: found.of,
        };
        Self { outcomes: Some(outcomes), ..self }
    }
}

impl From<Replay> for ReplayJob {
    fn from(replay: Replay) -> Self {
        Self {
            id: replay.id.to_string(),
            tenant: None,
            tenant_id: replay.tenant.map(|tenant| tenant.to_string()),
            state: replay.state.name(),
            of: match replay.filter.of {
                ReplayItems::Deliveries => "deliveries",
                ReplayItems::Events => "events",
                ReplayItems::DeadLetters => "dead_letters",
            },
            to: replay.to.map(|to| to.to_string()),
            rate: replay.rate,
            dry_run: replay.is_dry_run,
            total: replay.total,
            is_total_exact: replay.is_total_exact,
            done: replay.done,
            skipped: replay.skipped,
            failed: replay.failed,
            outcomes: None,
            error: replay.error,
            created_at: Timestamp(replay.created_at),
            started_at: replay.started_at.map(Timestamp),
            finished_at: replay.finished_at.map(Timestamp),
        }
    }
}
