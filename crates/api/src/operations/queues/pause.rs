//! `POST /v1/queues/{lane}/pause` and `…/resume`: what is in flight finishes, the rest waits.

use gancho_store::Pause;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const PAUSE: Route = Route {
    method: Method::POST,
    path: "/queues/{lane}/pause",
    needs: Needs::Operator,
    gives: Gives::nothing("The lane is paused. Pausing it again has no effect."),
    tag: TAG,
    summary: "Pause a lane",
    about: "Deliveries in flight finish; all others wait until the lane is resumed.",
    run: |call| {
        Box::pin(async move {
            call.api.engine.pause(what(&call)?).await?;
            Ok(Answer::nothing())
        })
    },
    ..Route::PLAIN
};

pub const RESUME: Route = Route {
    method: Method::POST,
    path: "/queues/{lane}/resume",
    needs: Needs::Operator,
    gives: Gives::nothing("The lane is resumed."),
    tag: TAG,
    summary: "Resume a lane",
    run: |call| {
        Box::pin(async move {
            call.api.engine.resume(what(&call)?).await?;
            Ok(Answer::nothing())
        })
    },
    ..Route::PLAIN
};

fn what(call: &Call) -> Result<Pause, Problem> {
    call.id("lane").map(Pause::Lane)
}
