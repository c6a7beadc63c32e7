//! A tenant's URL that subscribes to event types.

use std::time::Duration;

use crate::{EndpointId, Pattern, Rate, RetryPlan, TenantId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: EndpointId,
    pub tenant: TenantId,
    pub name: String,
    /// The tenant's own id for it. No two of a tenant's have the same.
    pub external_id: Option<String>,
    pub url: String,
    pub events: Vec<Pattern>,
    /// The secret, encrypted by the caller that saves the endpoint. The store never sees it in the clear.
    pub sealed_secret: Vec<u8>,
    /// Secrets that were rotated away and still sign for a while, the newest first.
    pub old_secrets: Vec<OldSecret>,
    /// Custom headers, encrypted as well: they may contain tokens.
    pub sealed_headers: Option<Vec<u8>>,
    /// A JSON object of the tenant's own, kept as it was given.
    pub metadata: String,
    /// The wire profile by name.
    pub profile: String,
    pub is_active: bool,
    pub ordering: Ordering,
    /// Where unset, the profile's own.
    pub plan: Option<RetryPlan>,
    pub timeout: Option<Duration>,
    pub max_in_flight: Option<u32>,
    pub rate: Option<Rate>,
    pub health: Health,
    pub created_at: Time,
    pub updated_at: Time,
    /// The version, for optimistic concurrency.
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSecret {
    pub sealed: Vec<u8>,
    /// Signs until then.
    pub until: Time,
}

/// The health of an endpoint. Stored, so that it survives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Since when every attempt has failed; `None` while it works.
    pub failing_since: Option<Time>,
    /// When its owner was warned of that.
    pub warned_at: Option<Time>,
    /// Why the gateway has disabled it.
    pub disabled: Option<Disabled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled {
    /// It responded with 410.
    Gone,
    /// All its deliveries failed for too long.
    Failing,
}

impl Endpoint {
    pub fn wants(&self, event_type: &str) -> bool {
        self.is_active && self.events.iter().any(|pattern| pattern.matches(event_type))
    }
}

/// The order in which an endpoint gets its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ordering {
    /// As they come; a retry may be overtaken by later events.
    #[default]
    BestEffort,
    /// Per subject: the next waits until the one before is delivered or dead.
    PerSubject,
}
