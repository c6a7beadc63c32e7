//! `DELETE /v1/tenants/{tenant}`: the tenant is gone at once; what it sent is removed in the background.

use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, find};
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    operations::captured_emails::erase_captured,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route},
};

/// A tenant that was deleted.
#[derive(Debug, Serialize, ToSchema)]
struct DeletedTenant {
    /// Id of the tenant (`ten_…`).
    id: String,
    /// Slug of the tenant, which can be used again.
    slug: String,
    /// When the tenant was deleted.
    deleted_at: Timestamp,
}

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/tenants/{tenant}",
    operation_id: "deleteTenant",
    needs: Needs::Operator,
    gives: Gives::accepted::<DeletedTenant>(
        "The tenant is deleted. What it sent is being removed in the background.",
    ),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Delete a tenant",
    about: "Deletes the tenant, its webhooks, API keys, portal links, event types and suppressions at once, and ends its deliveries; requests in flight finish. Its events, e-mails, deliveries and dead letters are removed in the background, without being archived. Its slug can be used again. This cannot be undone. What remains: entries in the audit log and the ledger, and counters, for as long as they are kept.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = find(&call).await?;
    let now = call.api.clock.now();
    let was_there = call.api.store.delete_tenant(tenant.id, now).await?;
    call.api.access.tenants.forget(tenant.id);
    call.api.registry.forget(tenant.id);
    erase_captured(&call, |email| email.tenant == tenant.id);
    if !was_there {
        return Err(Problem::not_found(ResourceKind::Tenant));
    }
    Answer::accepted(&DeletedTenant {
        id: tenant.id.to_string(),
        slug: tenant.slug.clone(),
        deleted_at: Timestamp(now),
    })
}
