//! `GET /v1/events/{event_id}`: an event, its data and its deliveries.

use gancho_access::{Principal, Right};
use gancho_domain::{EventId, ParcelKind, TenantScope};
use gancho_store::EventView;

use super::{TAG, view::Event};
use crate::{
    answer::Answer,
    input::field::ResourceKind,
    operations::deliveries::waiting_for::WaitContext,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/events/{event_id}",
    operation_id: "getEvent",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<Event>("The event, its data and its deliveries."),
    tag: TAG,
    summary: "Get an event",
    about: "The operator can read the events of every tenant.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let context = WaitContext::new(&call.api);
    let wait = |row| context.on(&call.api, scope.tenant(), row);
    let waits: Vec<_> = view.deliveries.iter().map(wait).collect();
    let mut event = Event::from(view);
    let deliveries = event.deliveries.into_iter().zip(waits);
    event.deliveries = deliveries.map(|(delivery, wait)| delivery.waiting(wait)).collect();
    Answer::ok(&event)
}

/// The event in the path, of the caller's tenant or, for the operator, of any.
pub(super) async fn find(call: &Call) -> Result<(TenantScope, EventView), Problem> {
    let not_found = || Problem::not_found(ResourceKind::Event);
    let id: EventId = call.id("event_id")?;
    let scope = match &call.principal {
        Principal::Tenant(principal) => principal.scope(),
        Principal::Operator(operator) => {
            let owner = call.api.store.event_owner(id).await?;
            operator.scope_of(owner.ok_or_else(not_found)?)
        }
    };
    let found = call.api.store.event(scope, id).await?;
    // E-mails are stored like events, but have their own operation, which masks recipients.
    let found = found.filter(|view| view.parcel.kind == ParcelKind::Event);
    Ok((scope, found.ok_or_else(not_found)?))
}
