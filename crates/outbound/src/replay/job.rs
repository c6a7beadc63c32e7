//! A replay: the request and its progress.

use gancho_domain::{EndpointId, EventId, Lane, ReplayId, Status, TenantId, Time};
pub use gancho_store::ReplayState;

/// What is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayItems {
    /// Past deliveries, to their original endpoints.
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
    pub of: ReplayItems,
    /// Applies to deliveries only.
    pub endpoint: Option<EndpointId>,
    /// Applies to deliveries only.
    pub status: Option<Status>,
    /// Applies to deliveries and events.
    pub event_type: Option<String>,
    /// Applies to deliveries and events: only these events.
    pub events: Vec<EventId>,
    /// Default: the webhook lane for deliveries, all lanes for dead letters.
    pub lane: Option<Lane>,
    /// Applies to dead letters only.
    pub code: Option<String>,
    /// Applies to events only: those that the endpoint is subscribed to and has no delivery of.
    pub is_missing: bool,
    /// Applies to deliveries only: the publisher's own id of the event, or the partner's event id of a
    /// receipt.
    pub external_id: Option<String>,
    /// Applies to an operator's replay only: one tenant, or one source.
    pub tenant: Option<TenantId>,
    pub since: Option<Time>,
    /// At most, and by default, the time of the request: a replay never sends what it has created itself.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewReplay {
    pub filter: ReplayFilter,
    /// The endpoint to send to, even if it was created later.
    pub to: Option<EndpointId>,
    /// Deliveries per second.
    pub rate: Option<u32>,
    /// Count, but send nothing.
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
    /// How many items there are to send, once they are counted.
    pub total: u64,
    /// Whether the total is exact. Counting stops at a maximum, and the total is then a lower bound.
    pub is_total_exact: bool,
    /// Items that were sent again.
    pub done: u64,
    /// Items that were skipped: their endpoint is deleted or disabled, or they are in flight.
    pub skipped: u64,
    /// Items that could not be sent again.
    pub failed: u64,
    /// Why the replay failed as a whole.
    pub error: Option<String>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
}
