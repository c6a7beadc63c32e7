//! A replay: the request and its progress.

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
    /// Dead letters.
    DeadLetters,
}

/// The filter. Fields that are not set match everything.
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
    /// Default: the webhook lane for deliveries, all lanes for dead letters.
    pub lane: Option<Lane>,
    /// Only for dead letters.
    pub code: Option<String>,
    /// Only for events: those that the endpoint is subscribed to and has no delivery of.
    pub is_missing: bool,
    /// Only for deliveries: the publisher's own id of the event, or the partner's of what it posted.
    pub external_id: Option<String>,
    /// Only for an operator's replay: one tenant's, or one source's.
    pub tenant: Option<TenantId>,
    pub since: Option<Time>,
    /// At most, and by default, the time of the request: a replay never sends what it has created itself.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewReplay {
    pub filter: ReplayFilter,
    /// To this endpoint, even if it was created later.
    pub to: Option<EndpointId>,
    /// Deliveries per second.
    pub rate: Option<u32>,
    /// Count and send nothing.
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    pub id: ReplayId,
    /// `None` for the operator's replay over all tenants.
    pub tenant: Option<TenantId>,
    pub state: ReplayState,
    pub filter: ReplayFilter,
    pub to: Option<EndpointId>,
    /// Deliveries per second.
    pub rate: u32,
    pub is_dry_run: bool,
    /// How many there are to send, once they are counted.
    pub total: u64,
    /// Counting stops at some point: then the total is a lower bound.
    pub is_total_exact: bool,
    /// Sent again.
    pub done: u64,
    /// Skipped: their endpoint is deleted or disabled, or they are in flight.
    pub skipped: u64,
    /// Could not be sent again.
    pub failed: u64,
    /// Why it failed as a whole.
    pub error: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
}
