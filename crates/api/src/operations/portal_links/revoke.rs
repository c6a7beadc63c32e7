//! `DELETE /v1/tenants/{tenant}/portal-links`: ends all links of a tenant, with the sessions that they opened.

use http::Method;

use crate::{
    answer::Answer,
    codes,
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/tenants/{tenant}/portal-links",
    operation_id: "revokePortalLinks",
    needs: Needs::Operator,
    gives: Gives::no_content(
        "The links are revoked: on this node at once, on the others within 5 seconds.",
    ),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::STORAGE_FULL],
    tag: "Tenants",
    summary: "Revoke portal links",
    about: "All portal links of the tenant that were made until now, and the sessions in the portal that they opened.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    let scope = call.operator()?.act_for(tenant).scope();
    call.api.access.portal_revocations.revoke(scope).await?;
    Ok(Answer::no_content())
}
