//! `DELETE /v1/tenants/{tenant}/api-keys/{key_id}`: at once on this node, within seconds on all others.

use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/tenants/{tenant}/api-keys/{key_id}",
    operation_id: "revokeTenantApiKey",
    needs: Needs::Operator,
    gives: Gives::no_content(
        "The key is revoked: on this node at once, on the others within 5 seconds.",
    ),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::CONFLICT],
    tag: TAG,
    summary: "Revoke an API key",
    about: "A revoked key stays in the list for 90 days.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    let id = call.id("key_id")?;
    let scope = call.operator()?.act_for(tenant).scope();
    call.api.access.keys.revoke(scope, id).await?;
    Ok(Answer::no_content())
}
