//! `GET /v1/webhooks/{id}`.

use gancho_access::{Principal, Right};
use gancho_domain::EndpointId;

use super::{TAG, view::Webhook};
use crate::{
    answer::Answer,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks/{id}",
    operation_id: "getWebhook",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<Webhook>("The webhook, without its secret."),
    tag: TAG,
    summary: "Get a webhook",
    about: "The operator can read the webhooks of every tenant.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let not_found = || Problem::not_found(ResourceKind::Webhook);
    let id: EndpointId = call.id("id")?;
    let scope = match &call.principal {
        Principal::Tenant(principal) => principal.scope(),
        Principal::Operator(operator) => {
            let owner = call.api.store.endpoint_owner(id).await?;
            operator.scope_of(owner.ok_or_else(not_found)?)
        }
    };
    let endpoint = call.api.store.endpoint(scope, id).await?.ok_or_else(not_found)?;
    Answer::ok(&Webhook::of(&call.api, &endpoint)?)
}
