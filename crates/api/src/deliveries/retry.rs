//! `POST /v1/deliveries/{delivery_id}/retry` and the same below a webhook: now, whatever its state.

use gancho_store::Rearmed;
use http::Method;

use super::{TAG, find, view::Delivery};
use crate::{
    answer::Answer,
    auth::Right,
    codes,
    input::field::Noun,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/deliveries/{delivery_id}/retry",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::accepted::<Delivery>("It is due now, or is being tried at this moment."),
    refuses: &[&codes::STORAGE_FULL],
    tag: TAG,
    summary: "Retry a delivery",
    about: "It is tried now, whatever its state; one that had ended starts its plan anew.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries/{delivery_id}/retry",
    needs: Needs::Tenant(Right::Manage),
    summary: "Retry a webhook's delivery",
    ..ROUTE
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let id = view.row.id;
    match call.api.store.rearm(scope, id, call.api.clock.now()).await? {
        Rearmed::Due | Rearmed::InFlight => {}
        Rearmed::Unknown => return Err(Problem::not_found(Noun::Delivery)),
    }
    let view = call.api.store.delivery(scope, id).await?;
    let view = view.ok_or_else(|| Problem::not_found(Noun::Delivery))?;
    Answer::accepted(&Delivery::from(view.row))
}
