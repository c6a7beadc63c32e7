//! `POST /v1/queues/{lane}/pause` and `…/resume`: deliveries in flight finish, all others wait.

use gancho_store::Pause;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    /// The body of every operation that pauses deliveries.
    pub struct PauseBody {
        /// Why the deliveries are paused, for other people to read. It is recorded in the audit log.
        nullable reason: String as text(0, 200),
    }
}

impl PauseBody {
    pub fn reason(self) -> Option<String> {
        let reason = self.reason.map(|reason| reason.trim().to_owned());
        reason.filter(|reason| !reason.is_empty())
    }
}

pub const PAUSE: Route = Route {
    method: Method::POST,
    path: "/queues/{lane}/pause",
    operation_id: "pauseQueue",
    needs: Needs::Operator,
    takes: Takes::Maybe(PauseBody::FIELDS),
    gives: Gives::no_content("The lane is paused. Pausing it again has no effect."),
    tag: TAG,
    summary: "Pause a lane",
    about: "Deliveries in flight finish; all others wait until the lane is resumed. Other nodes follow within about a second.",
    run: |call| {
        Box::pin(async move {
            let body: PauseBody = call.parse_body()?;
            call.api.engine.pause(pause(&call)?).await?;
            Ok(Answer::no_content().because(body.reason()))
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
