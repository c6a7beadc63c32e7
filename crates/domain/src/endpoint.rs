//! A tenant's URL that wants certain events.

use std::time::Duration;

use crate::{EndpointId, Pattern, Rate, RetryPlan, TenantId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: EndpointId,
    pub tenant: TenantId,
    pub name: String,
    pub url: String,
    pub events: Vec<Pattern>,
    /// The secret, sealed by whoever saves the endpoint. The store never sees it open.
    pub sealed_secret: Vec<u8>,
    /// The wire profile by name.
    pub profile: String,
    pub is_active: bool,
    pub ordering: Ordering,
    /// Where unset, the profile's own.
    pub plan: Option<RetryPlan>,
    pub timeout: Option<Duration>,
    pub max_in_flight: Option<u32>,
    pub rate: Option<Rate>,
    pub created_at: Time,
}

impl Endpoint {
    pub fn wants(&self, event_type: &str) -> bool {
        self.is_active && self.events.iter().any(|pattern| pattern.matches(event_type))
    }
}

/// In which order an endpoint gets its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ordering {
    /// As they come; a retry may be overtaken.
    #[default]
    BestEffort,
    /// Per subject: the next waits until the one before is delivered or dead.
    PerSubject,
}
