//! `POST /v1/webhooks/events`: registers an event type.

use gancho_access::Right;
use http::Method;

use super::{TAG, new_type::NewEventTypeBody, view::EventType};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks/events",
    operation_id: "createEventType",
    needs: Needs::Anyone(Right::Manage),
    takes: Takes::Body(NewEventTypeBody::FIELDS),
    gives: Gives::created::<EventType>("The event type."),
    refuses: &[
        &codes::TAKEN,
        &codes::RESERVED_EVENT_TYPE,
        &codes::SCHEMA_MISMATCH,
        &codes::STORAGE_FULL,
    ],
    tag: TAG,
    summary: "Register an event type",
    about: "A tenant's event type overrides the operator's of the same name, which overrides a built-in one. The operator's event types apply to all tenants.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let NewEventTypeBody { name, settings } = call.parse_body()?;
    let known = call.api.event_types.create(owner, settings.named(name)).await?;
    Answer::created(&EventType::from(known))
}
