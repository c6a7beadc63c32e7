//! A replay: what is asked for, and how it stands.

use gancho_domain::{EndpointId, EventId, Lane, ReplayId, Status, TenantId, Time};
pub use gancho_store::ReplayState;

/// What is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayOf {
    /// Past deliveries, to where they went.
    #[default]
    Deliveries,
    /// Past events, to the endpoint named in [`NewReplay::to`].
    Events,
    /// Deliveries that were given up.
    DeadLetters,
}

/// Which of them. What is not set does not narrow it down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayFilter {
    pub of: ReplayOf,
    /// Only for deliveries.
    pub endpoint: Option<EndpointId>,
    /// Only for deliveries.
    pub status: Option<Status>,
    /// For deliveries and events.
    pub event_type: Option<String>,
    /// For deliveries and events: these events and no others.
    pub events: Vec<EventId>,
    /// For deliveries that of webhooks, for dead letters all, where it is not set.
    pub lane: Option<Lane>,
    /// Only for dead letters.
    pub code: Option<String>,
    /// Only for deliveries: the publisher's own id of the event, or the partner's of what it posted.
    pub external_id: Option<String>,
    /// Only for an operator's replay: one tenant's, or one source's.
    pub tenant: Option<TenantId>,
    pub since: Option<Time>,
    /// At most, and where not set, the time at which the replay was asked for: a replay never sends
    /// what it made itself.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewReplay {
    pub filter: ReplayFilter,
    /// To this endpoint, though it may have been made later.
    pub to: Option<EndpointId>,
    /// So many a second.
    pub rate: Option<u32>,
    /// Count and send nothing.
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    pub id: ReplayId,
    /// Nothing where it is the operator's, over all tenants.
    pub tenant: Option<TenantId>,
    pub state: ReplayState,
    pub filter: ReplayFilter,
    pub to: Option<EndpointId>,
    /// So many a second.
    pub rate: u32,
    pub is_dry_run: bool,
    /// How many there are to send, once that was counted.
    pub total: u64,
    /// Counting stops at some point: then the total is a lower bound.
    pub is_total_exact: bool,
    /// Sent again.
    pub done: u64,
    /// Passed over: their endpoint is gone or switched off, or they are in flight at this moment.
    pub skipped: u64,
    /// Could not be sent again.
    pub failed: u64,
    /// Why it failed as a whole.
    pub error: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
}
