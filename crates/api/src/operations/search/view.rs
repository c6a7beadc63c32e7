//! Renders what a search has found.

use std::fmt::Display;

use gancho_domain::{Endpoint, Tenant, Time};
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// What kind of thing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchType {
    Event,
    Delivery,
    Webhook,
    Email,
    Source,
    Receipt,
    Replay,
    Tenant,
    ApiKey,
    EventType,
}

impl MatchType {
    pub const ALL: [Self; 10] = [
        Self::Event,
        Self::Delivery,
        Self::Webhook,
        Self::Email,
        Self::Source,
        Self::Receipt,
        Self::Replay,
        Self::Tenant,
        Self::ApiKey,
        Self::EventType,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Delivery => "delivery",
            Self::Webhook => "webhook",
            Self::Email => "email",
            Self::Source => "source",
            Self::Receipt => "receipt",
            Self::Replay => "replay",
            Self::Tenant => "tenant",
            Self::ApiKey => "api_key",
            Self::EventType => "event_type",
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SearchMatch {
    /// What it is: `event`, `delivery`, `webhook`, `email`, `source`, `receipt`, `replay`, `tenant`, `api_key` or
    /// `event_type`.
    #[serde(rename = "type")]
    #[schema(value_type = words::SearchMatchType)]
    pub kind: &'static str,
    /// Its id; of an event type, its name.
    pub id: String,
    /// Whether the search text is its id.
    pub is_id: bool,
    /// Slug of its tenant; null if it belongs to none.
    pub tenant: Option<String>,
    /// The partner, of a source or a receipt.
    pub partner: Option<String>,
    /// Its name, its URL, or the type of its event.
    pub name: Option<String>,
    pub created_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResult {
    pub data: Vec<SearchMatch>,
    /// Whether everything was searched. If not, there may be matches that `data` does not have.
    pub is_complete: bool,
}

impl SearchMatch {
    pub(super) fn new(kind: MatchType, id: impl Display) -> Self {
        Self {
            kind: kind.name(),
            id: id.to_string(),
            is_id: false,
            tenant: None,
            partner: None,
            name: None,
            created_at: None,
        }
    }

    pub(super) fn webhook(endpoint: &Endpoint) -> Self {
        let name = if endpoint.name.is_empty() { &endpoint.url } else { &endpoint.name };
        Self::new(MatchType::Webhook, endpoint.id).called(name)
    }

    pub(super) fn tenant(tenant: &Tenant) -> Self {
        let found = Self::new(MatchType::Tenant, tenant.id).called(&tenant.name);
        Self { tenant: Some(tenant.slug.clone()), ..found }
    }

    pub(super) fn called(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    pub(super) fn at(self, created_at: Time) -> Self {
        Self { created_at: Some(Timestamp(created_at)), ..self }
    }

    pub(super) fn of_tenant(self, slug: Option<String>) -> Self {
        Self { tenant: slug, ..self }
    }

    pub(super) fn of_partner(self, partner: &str) -> Self {
        Self { partner: Some(partner.to_owned()), ..self }
    }
}
