//! `POST /v1/webhooks/events`: a new event type.

use gancho_access::Right;
use http::Method;

use super::{
    TAG,
    new_type::{WITH_NAME, new_type},
    view::EventType,
};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks/events",
    needs: Needs::Anyone(Right::Manage),
    takes: Takes::Body(WITH_NAME),
    gives: Gives::created::<EventType>("The event type."),
    refuses: &[
        &codes::TAKEN,
        &codes::RESERVED_EVENT_TYPE,
        &codes::SCHEMA_MISMATCH,
        &codes::STORAGE_FULL,
    ],
    tag: TAG,
    summary: "Register an event type",
    about: "A tenant's own stands before the operator's of the same name, and that before a built-in one. The operator's is everyone's.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let values = call.values()?;
    let name = values.string("name").unwrap_or_default();
    let own = call.api.event_types.list(owner).await?;
    let is_own = |one: &gancho_outbound::event_types::EventTypeInfo| {
        let catalog = if owner.tenant().is_some() { "tenant" } else { "operator" };
        one.name == name && one.catalog.name() == catalog
    };
    if own.iter().any(is_own) {
        return Err(Problem::new(
            &codes::TAKEN,
            "the event type is registered already: replace it with PUT, or choose another name",
        ));
    }
    let known = call.api.event_types.put(owner, new_type(name, &values)).await?;
    Answer::created(&EventType::from(known))
}
