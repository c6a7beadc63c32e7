//! `GET /v1/events/{event_id}`: an event, its data and its deliveries.

use gancho_access::Right;
use gancho_domain::Kind;

use super::{TAG, view::Event};
use crate::{
    answer::Answer,
    input::field::Noun,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/events/{event_id}",
    needs: Needs::Tenant(Right::Read),
    gives: Gives::ok::<Event>("The event, its data and its deliveries."),
    tag: TAG,
    summary: "Get an event",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let found = call.api.store.event(principal.scope(), call.id("event_id")?).await?;
    // E-mails are stored like events, but have their own operation, which masks recipients.
    let found = found.filter(|view| view.parcel.kind == Kind::Event);
    let view = found.ok_or_else(|| Problem::not_found(Noun::Event))?;
    Answer::ok(&Event::from(view))
}
