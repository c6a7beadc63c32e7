//! `DELETE /v1/webhooks/{id}`.

use gancho_access::Right;
use gancho_store::Pause;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/webhooks/{id}",
    operation_id: "deleteWebhook",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::no_content("The webhook is deleted."),
    tag: TAG,
    summary: "Delete a webhook",
    about: "Its deliveries stay in the delivery log. Those that are still waiting become dead letters.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, id) = (call.tenant()?.scope(), call.id("id")?);
    call.api.endpoints.delete(scope, id).await?;
    // Its pause is deleted with it. Other nodes notice within a second, this one now.
    call.api.engine.forget_pause(Pause::Endpoint(scope.tenant(), id));
    Ok(Answer::no_content())
}
