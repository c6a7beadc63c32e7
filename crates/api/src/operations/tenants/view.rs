//! Renders a tenant.

use gancho_domain::{Tenant, span, tenant::TenantRetention};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{operations::webhooks::view::RateLimit, render::Timestamp};

/// A tenant, which owns webhooks, events and e-mails.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tenant)]
pub struct TenantView {
    /// Id of the tenant (`ten_…`).
    pub id: String,
    /// Short name of the tenant, which is unique and never changes. Used in paths and in `X-Tenant`.
    pub slug: String,
    /// Display name.
    pub name: String,
    /// Name of the plan, which limits webhooks and events per month.
    pub plan: String,
    /// Profile of webhooks that do not name one.
    pub default_profile: String,
    /// Whether only registered event types can be published.
    pub strict_event_types: bool,
    /// Maximum rate of publishing; null for the operator's default.
    pub publish_rate: Option<RateLimit>,
    pub retention: RetentionView,
    /// When the tenant was created.
    pub created_at: Timestamp,
}

/// How long the data of a tenant is stored, as durations such as `30d`. Null for the operator's default.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Retention)]
pub struct RetentionView {
    /// How long events are stored with their deliveries, after those have ended.
    pub events: Option<String>,
    /// How long e-mails are stored, after they were sent or have failed.
    pub emails: Option<String>,
    /// How long dead letters are stored, before they are archived.
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
