//! `GET /v1/webhooks/{id}`.

use gancho_access::Right;

use super::{
    TAG,
    view::{PausedWebhooks, Webhook},
};
use crate::{
    answer::Answer,
    input::field::Noun,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks/{id}",
    needs: Needs::Tenant(Right::Read),
    gives: Gives::ok::<Webhook>("The webhook, without its secret."),
    tag: TAG,
    summary: "Get a webhook",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let found = call.api.store.endpoint(principal.scope(), call.id("id")?).await?;
    let endpoint = found.ok_or_else(|| Problem::not_found(Noun::Webhook))?;
    let paused = PausedWebhooks::read(&call.api).await?;
    Answer::ok(&Webhook::of(&call.api, &endpoint, &paused)?)
}
