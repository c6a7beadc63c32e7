//! `GET /v1/webhooks/events/{event_type}`.

use gancho_access::Right;

use super::{TAG, view::EventType};
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks/events/{event_type}",
    operation_id: "getEventType",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<EventType>("The event type."),
    tag: TAG,
    summary: "Get an event type",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let known = call.api.event_types.get(call.owner(), call.path_param("event_type")).await?;
    Answer::ok(&EventType::from(known))
}
