//! `POST /v1/webhooks/{id}/pause` and `…/resume`: deliveries in flight finish, all others wait.

use gancho_access::Right;
use gancho_domain::EndpointId;
use gancho_store::Pause;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    input::{Request, field::ResourceKind},
    operations::queues::pause::PauseBody,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const PAUSE: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/pause",
    operation_id: "pauseWebhook",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Maybe(PauseBody::FIELDS),
    gives: Gives::no_content("The webhook is paused. Pausing it again has no effect."),
    tag: TAG,
    summary: "Pause a webhook",
    about: "Deliveries in flight finish. Events are still accepted; their deliveries wait until the webhook is resumed. Other nodes follow within about a second.",
    run: |call| {
        Box::pin(async move {
            let body: PauseBody = call.parse_body()?;
            let pause = existing(&call).await?;
            call.api.engine.pause(pause).await?;
            Ok(Answer::no_content().because(body.reason()))
        })
    },
    ..Route::DEFAULT
};

pub const RESUME: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/resume",
    operation_id: "resumeWebhook",
    needs: Needs::Tenant(Right::Manage),
    gives: Gives::no_content("The webhook is resumed."),
    tag: TAG,
    summary: "Resume a webhook",
    run: |call| {
        Box::pin(async move {
            let pause = paused(&call).await?;
            call.api.engine.resume(pause).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};

/// Resuming needs only the id, so that nothing stays paused because its webhook was deleted.
async fn paused(call: &Call) -> Result<Pause, Problem> {
    let pause = Pause::Endpoint(call.tenant()?.scope().tenant(), call.id("id")?);
    if call.api.engine.is_paused(pause) {
        return Ok(pause);
    }
    existing(call).await
}

async fn existing(call: &Call) -> Result<Pause, Problem> {
    let scope = call.tenant()?.scope();
    let id: EndpointId = call.id("id")?;
    let found = call.api.store.endpoint(scope, id).await?;
    found.ok_or_else(|| Problem::not_found(ResourceKind::Webhook))?;
    Ok(Pause::Endpoint(scope.tenant(), id))
}
