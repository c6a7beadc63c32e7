//! What a caller gives for an endpoint, before it is judged.

use std::{collections::BTreeMap, fmt};

use gancho_domain::{RateDraft, RetryDraft};
use serde_json::value::RawValue;

/// Every field as it was given; nothing where it was not. The fields that can be unset by giving
/// `null` have two layers: given at all, and given as something.
#[derive(Clone, Default)]
pub struct EndpointDraft {
    pub url: Option<String>,
    pub events: Option<Vec<String>>,
    pub name: Option<String>,
    pub secret: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub is_active: Option<bool>,
    pub profile: Option<String>,
    pub retry: Option<Option<RetryDraft>>,
    /// Such as `15s`.
    pub timeout: Option<Option<String>>,
    pub rate_limit: Option<Option<RateDraft>>,
    pub max_in_flight: Option<Option<u32>>,
    /// `best_effort` or `per_subject`.
    pub ordering: Option<String>,
    pub metadata: Option<Box<RawValue>>,
}

/// Without the secret and without what stands in headers.
impl fmt::Debug for EndpointDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = self.headers.as_ref().map(|headers| headers.keys().collect::<Vec<_>>());
        f.debug_struct("EndpointDraft")
            .field("url", &self.url)
            .field("events", &self.events)
            .field("name", &self.name)
            .field("headers", &headers)
            .field("is_active", &self.is_active)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}
