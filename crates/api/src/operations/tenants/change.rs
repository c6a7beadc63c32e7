//! `PATCH /v1/tenants/{tenant}`: fields that are left out keep their value; the slug never changes.

use http::Method;

use super::{TAG, draft::TenantBody, find, view::TenantView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PATCH,
    path: "/tenants/{tenant}",
    operation_id: "updateTenant",
    needs: Needs::Operator,
    takes: Takes::Body(TenantBody::FIELDS),
    gives: Gives::ok::<TenantView>("The updated tenant."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Update a tenant",
    about: "Fields that are left out keep their value. The slug never changes.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let id = find(&call).await?.id;
    // Read from the store, because the cache may be old.
    let found = call.api.store.tenant(id).await?;
    let mut tenant = found.ok_or_else(|| Problem::not_found(ResourceKind::Tenant))?;
    call.parse_body::<TenantBody>()?.apply(&call.api, &mut tenant)?;
    call.api.store.change_tenant(tenant.clone()).await?;
    call.api.access.tenants.forget(id);
    Answer::ok(&TenantView::from(&tenant))
}
