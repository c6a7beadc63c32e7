//! Renders a tenant.

use gancho_domain::Tenant;
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
    pub created_at: Timestamp,
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
            created_at: Timestamp(tenant.created_at),
        }
    }
}
