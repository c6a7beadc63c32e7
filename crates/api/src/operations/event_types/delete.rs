//! `DELETE /v1/webhooks/events/{event_type}`: deletes an event type of the caller; built-in ones stay.

use gancho_access::Right;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/webhooks/events/{event_type}",
    operation_id: "deleteEventType",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::no_content("The event type is deleted. Published events of this type are kept."),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "Delete an event type",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    call.api.event_types.delete(call.owner(), call.path_param("event_type")).await?;
    Ok(Answer::no_content())
}
