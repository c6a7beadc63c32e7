//! `DELETE /v1/rejected-events/{event_id}`.

use gancho_access::Right;
use http::Method;

use super::TAG;
use crate::{
    answer::Answer,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/rejected-events/{event_id}",
    operation_id: "deleteRejectedEvent",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::no_content("The rejected event is deleted."),
    tag: TAG,
    summary: "Delete a rejected event",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = call.owner().tenant();
    if call.api.store.delete_rejected_event(tenant, call.id("event_id")?).await? {
        Ok(Answer::no_content())
    } else {
        Err(Problem::not_found(ResourceKind::Event))
    }
}
