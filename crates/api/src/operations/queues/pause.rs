//! `POST /v1/queues/{lane}/pause` and `…/resume`: deliveries in flight finish, all others wait.

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
    operation_id: "pauseQueue",
    needs: Needs::Operator,
    gives: Gives::no_content("The lane is paused. Pausing it again has no effect."),
    tag: TAG,
    summary: "Pause a lane",
    about: "Deliveries in flight finish; all others wait until the lane is resumed.",
    run: |call| {
        Box::pin(async move {
            call.api.engine.pause(pause(&call)?).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};

pub const RESUME: Route = Route {
    method: Method::POST,
    path: "/queues/{lane}/resume",
    operation_id: "resumeQueue",
    needs: Needs::Operator,
    gives: Gives::no_content("The lane is resumed."),
    tag: TAG,
    summary: "Resume a lane",
    run: |call| {
        Box::pin(async move {
            call.api.engine.resume(pause(&call)?).await?;
            Ok(Answer::no_content())
        })
    },
    ..Route::DEFAULT
};

fn pause(call: &Call) -> Result<Pause, Problem> {
    call.id("lane").map(Pause::Lane)
}
