//! `PUT /v1/webhooks/events/{event_type}`: registers or replaces an event type.

use gancho_access::Right;
use http::Method;

use super::{TAG, new_type::EventTypeBody, view::EventType};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ROUTE: Route = Route {
    method: Method::PUT,
    path: "/webhooks/events/{event_type}",
    operation_id: "replaceEventType",
    needs: Needs::Anyone(Right::Manage),
    takes: Takes::Body(EventTypeBody::FIELDS),
    gives: Gives::ok::<EventType>("The updated event type."),
    refuses: &[&codes::RESERVED_EVENT_TYPE, &codes::SCHEMA_MISMATCH, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Register or replace an event type",
    about: "Fields that are left out are reset to their defaults.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let name = call.path_param("event_type").to_owned();
    let new = call.parse_body::<EventTypeBody>()?.named(name);
    let known = call.api.event_types.put(call.owner(), new).await?;
    Answer::ok(&EventType::from(known))
}
