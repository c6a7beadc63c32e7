//! The input for an endpoint, before validation.

use std::{collections::BTreeMap, fmt};

use gancho_domain::{RateDraft, RetryDraft};
use serde_json::value::RawValue;

/// Fields that are missing in the request are `None`. Fields that `null` can unset have two layers: present
/// at all, and present with a value.
#[derive(Clone, Default)]
pub struct EndpointDraft {
    pub url: Option<String>,
    pub events: Option<Vec<String>>,
    pub name: Option<String>,
    pub external_id: Option<Option<String>>,
    pub secret: Option<String>,
    pub headers: Option<BTreeMap<String, String>>,
    pub is_active: Option<bool>,
    pub profile: Option<String>,
    pub retry: Option<Option<RetryDraft>>,
    /// For example, `15s`.
    pub timeout: Option<Option<String>>,
    pub rate_limit: Option<Option<RateDraft>>,
    pub max_in_flight: Option<Option<u32>>,
    /// `best_effort` or `per_subject`.
    pub ordering: Option<String>,
    pub metadata: Option<Box<RawValue>>,
}

/// Omits the secret and header values.
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
