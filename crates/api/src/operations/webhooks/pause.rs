//! `POST /v1/webhooks/{id}/pause` and `…/resume`: what is in flight finishes, the rest waits.

use gancho_access::Right;
use gancho_domain::EndpointId;
use gancho_store::Pause;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    input::field::Noun,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const PAUSE: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/pause",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::nothing("The webhook is paused. Pausing it again has no effect."),
    tag: TAG,
    summary: "Pause a webhook",
    about: "Deliveries in flight finish. Events are still accepted; their deliveries wait until the webhook is resumed.",
    run: |call| {
        Box::pin(async move {
            let what = existing(&call).await?;
            call.api.engine.pause(what).await?;
            Ok(Answer::nothing())
        })
    },
    ..Route::PLAIN
};

pub const RESUME: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/resume",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::nothing("The webhook is resumed."),
    tag: TAG,
    summary: "Resume a webhook",
    run: |call| {
        Box::pin(async move {
            let what = paused(&call).await?;
            call.api.engine.resume(what).await?;
            Ok(Answer::nothing())
        })
    },
    ..Route::PLAIN
};

/// A pause is lifted by the id alone: nothing may stay paused because its webhook is gone.
async fn paused(call: &Call) -> Result<Pause, Problem> {
    let what = Pause::Endpoint(call.tenant()?.scope().tenant(), call.id("id")?);
    if call.api.store.pauses().await?.contains(&what) {
        return Ok(what);
    }
    existing(call).await
}

async fn existing(call: &Call) -> Result<Pause, Problem> {
    let scope = call.tenant()?.scope();
    let id: EndpointId = call.id("id")?;
    let found = call.api.store.endpoint(scope, id).await?;
    found.ok_or_else(|| Problem::not_found(Noun::Webhook))?;
    Ok(Pause::Endpoint(scope.tenant(), id))
}
