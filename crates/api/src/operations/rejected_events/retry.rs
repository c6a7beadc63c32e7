//! `POST /v1/rejected-events/{event_id}/retry`: accepts it, if it is valid now.

use gancho_access::Right;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/rejected-events/{event_id}/retry",
    operation_id: "retryRejectedEvent",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::no_content("The event will be checked again within seconds."),
    refuses: &[&codes::TAKEN],
    tag: TAG,
    summary: "Retry a rejected event",
    about: "Checks an event again that was published from SQL and rejected. It is then accepted under its id, or rejected again. Another event with its idempotency key that still waits to be accepted is a conflict.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = call.owner().tenant();
    if call.api.store.retry_rejected_event(tenant, call.id("event_id")?).await? {
        Ok(Answer::no_content())
    } else {
        Err(Problem::not_found(ResourceKind::Event))
    }
}
