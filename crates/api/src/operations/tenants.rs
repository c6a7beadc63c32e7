//! Tenants, which own webhooks and events. Operator only.

pub mod change;
pub mod create;
pub mod delete;
pub mod draft;
pub mod get;
pub mod list;
pub mod metadata;
pub mod notice_emails;
pub mod pause;
pub mod view;

use std::sync::Arc;

use gancho_domain::Tenant;

use crate::{codes, problem::Problem, route::Call};

pub(crate) const TAG: &str = "Tenants";

/// The tenant in the path, by slug or id.
pub(crate) async fn find(call: &Call) -> Result<Arc<Tenant>, Problem> {
    let found = call.api.access.tenants.find(call.path_param("tenant")).await?;
    found.ok_or_else(|| {
        Problem::new(
            &codes::UNKNOWN_TENANT,
            "no tenant has this slug or id; list tenants with `GET /v1/tenants`",
        )
    })
}
