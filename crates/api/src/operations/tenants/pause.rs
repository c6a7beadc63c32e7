//! `POST /v1/tenants/{tenant}/pause` and `…/resume`: deliveries in flight finish, all others wait.

use gancho_store::Pause;
use http::Method;

use super::{TAG, find};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    operations::queues::pause::PauseBody,
    route::{Gives, Needs, Route, Takes},
};

pub const PAUSE: Route = Route {
    method: Method::POST,
    path: "/tenants/{tenant}/pause",
    operation_id: "pauseTenant",
    needs: Needs::Operator,
    takes: Takes::Maybe(PauseBody::FIELDS),
    gives: Gives::no_content("The tenant is paused. Pausing it again has no effect."),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Pause a tenant",
    about: "Deliveries in flight finish. Events are still accepted; their deliveries wait until the tenant is resumed. Other nodes follow within about a second.",
    run: |call| {
        Box::pin(async move {
            let body: PauseBody = call.parse_body()?;
            let tenant = find(&call).await?;
            call.api.engine.pause(Pause::Tenant(tenant.id)).await?;
            Ok(Answer::no_content().because(body.reason()))
        })
    },
    ..Route::DEFAULT
};

pub const RESUME: Route = Route {
    method: Method::POST,
    path: "/tenants/{tenant}/resume",
    operation_id: "resumeTenant",
    needs: Needs::Operator,
    gives: Gives::no_content("The tenant is resumed."),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Resume a tenant",
    run: |call| {
        Box::pin(async move {
            let tenant = find(&call).await?;
            call.api.engine.resume(Pause::Tenant(tenant.id)).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};
