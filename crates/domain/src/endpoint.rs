//! A tenant's URL that subscribes to event types.

use std::time::Duration;

use crate::{EndpointId, Pattern, Rate, RetryPlan, TenantId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: EndpointId,
    pub tenant: TenantId,
    pub name: String,
    /// The tenant's own id for the endpoint, unique within the tenant.
    pub external_id: Option<String>,
    pub url: String,
    pub events: Vec<Pattern>,
    /// The secret, encrypted by the caller that saves the endpoint. The store never sees the plain text.
    pub sealed_secret: Vec<u8>,
    /// Rotated secrets that still sign for a while, newest first.
    pub old_secrets: Vec<OldSecret>,
    /// Custom headers, encrypted because they may contain tokens.
    pub sealed_headers: Option<Vec<u8>>,
    /// The tenant's metadata: a JSON object, stored as it was sent.
    pub metadata: String,
    /// The name of the wire profile.
    pub profile: String,
    pub is_active: bool,
    pub ordering: Ordering,
    /// The retry plan. Default: the plan of the profile.
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
    /// The secret signs until this time.
    pub until: Time,
}

/// The health of an endpoint. Stored, so that it survives a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Since when every attempt has failed; `None` while attempts succeed.
    pub failing_since: Option<Time>,
    /// When its owner was warned of the failures.
    pub warned_at: Option<Time>,
    /// Why the gateway has disabled it.
    pub disabled: Option<DisableReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisableReason {
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
    /// In the order of arrival; later events may overtake a retry.
    #[default]
    BestEffort,
    /// Per subject: the next waits until the one before is delivered or dead.
    PerSubject,
}
