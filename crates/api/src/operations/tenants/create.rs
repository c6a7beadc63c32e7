//! `POST /v1/tenants`.

use gancho_domain::{
    Tenant,
    tenant::{RESERVED_SLUGS, is_slug},
};
use http::Method;

use super::{TAG, draft::NewTenantBody, view::TenantView};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/tenants",
    operation_id: "createTenant",
    needs: Needs::Operator,
    takes: Takes::Body(NewTenantBody::FIELDS),
    gives: Gives::created::<TenantView>("The tenant."),
    refuses: &[&codes::TAKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create a tenant",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let NewTenantBody { slug, settings } = call.parse_body()?;
    // A slug that looks like an id would be taken for the tenant with that id.
    if !is_slug(&slug) {
        return Err(Problem::field(
            "/slug",
            "`slug` must have 1 to 63 lower-case letters, digits, `-` and `_`, and begin with a letter or digit",
        ));
    }
    if RESERVED_SLUGS.contains(&&*slug) {
        let names = RESERVED_SLUGS.join("`, `");
        let text = format!("this slug is reserved (reserved slugs: `{names}`); choose another");
        return Err(Problem::field("/slug", text));
    }
    let mut tenant = Tenant::new(call.api.ids.make(), &slug, call.api.clock.now());
    settings.apply(&call.api, &mut tenant)?;
    call.api.store.create_tenant(tenant.clone()).await?;
    Ok(Answer::created(&TenantView::from(&tenant))?.about(tenant.id))
}
