//! Renders a tenant.

use gancho_domain::{Tenant, span, tenant::TenantRetention};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{operations::webhooks::view::RateLimit, render::Timestamp};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tenant)]
pub struct TenantView {
    pub id: String,
    pub slug: String,
    pub name: String,
    pub plan: String,
    pub default_profile: String,
    pub strict_event_types: bool,
    /// Null for the operator's default.
    pub publish_rate: Option<RateLimit>,
    pub retention: RetentionView,
    pub created_at: Timestamp,
}

/// How long what a tenant has sent is stored. Null for the operator's default.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Retention)]
pub struct RetentionView {
    /// Events with their deliveries, after those have ended.
    pub events: Option<String>,
    /// E-mails, after they were sent or have failed.
    pub emails: Option<String>,
    /// Dead letters, before they are archived.
    pub dead_letters: Option<String>,
}

impl From<TenantRetention> for RetentionView {
    fn from(retention: TenantRetention) -> Self {
        let TenantRetention { events, emails, dead_letters } = retention;
        Self {
            events: events.map(span::write),
            emails: emails.map(span::write),
            dead_letters: dead_letters.map(span::write),
        }
    }
}

impl From<&Tenant> for TenantView {
    fn from(tenant: &Tenant) -> Self {
        Self {
            id: tenant.id.to_string(),
            slug: tenant.slug.clone(),
            name: tenant.name.clone(),
            plan: tenant.plan.clone(),
            default_profile: tenant.default_profile.clone(),
            strict_event_types: tenant.strict_event_types,
            publish_rate: tenant.publish_rate.map(RateLimit::of),
            retention: tenant.retention.into(),
            created_at: Timestamp(tenant.created_at),
        }
    }
}
