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

/// An object that a search has found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchMatch {
    /// Type of the object.
    #[serde(rename = "type")]
    #[schema(value_type = words::SearchMatchType)]
    pub kind: &'static str,
    /// Id of the object; for an event type, its name.
    pub id: String,
    /// Whether the search text is this id.
    pub is_id: bool,
    /// Slug of the tenant that the object belongs to; null if it belongs to none.
    pub tenant: Option<String>,
    /// Name of the partner, for a source or a receipt; null otherwise.
    pub partner: Option<String>,
    /// Name or URL of the object, or the type of its event; null if it has none.
    pub name: Option<String>,
    /// When the object was created; null for sources, tenants, webhooks and event types.
    pub created_at: Option<Timestamp>,
}

/// What a search has found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResult {
    /// The objects that were found.
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
