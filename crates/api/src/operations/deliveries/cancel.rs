//! `POST /v1/deliveries/{delivery_id}/cancel`: gives up one delivery that waits. The event's others go on.

use gancho_access::Right;
use gancho_domain::{Code, State};
use gancho_store::DeliveryRow;
use http::Method;

use super::{TAG, find, view::Delivery};
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/deliveries/{delivery_id}/cancel",
    operation_id: "cancelDelivery",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::ok::<Delivery>("The delivery, which has failed with the code `CANCELED`."),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "Stop retrying a delivery",
    about: "Cancels one delivery that has not started or waits for a retry; other deliveries of its event go on. It fails with the code `CANCELED`. Lists, counts and replays of dead letters leave it out, unless this code is asked for. It can be retried later. Answers 409 if the delivery has ended already, or while an attempt is in flight.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let id = view.row.id;
    let canceled = call.api.store.cancel(scope, vec![id], call.api.clock.now()).await?;
    // Read after it was tried: the delivery may have ended meanwhile, or be in flight by now.
    let view = call.api.store.delivery(scope, id).await?;
    let view = view.ok_or_else(|| Problem::not_found(ResourceKind::Delivery))?;
    if canceled == 0 {
        return Err(Problem::new(&codes::CONFLICT, why_not(&view.row)));
    }
    Answer::ok(&Delivery::from(view.row))
}

fn why_not(row: &DeliveryRow) -> &'static str {
    let is_canceled = row.last_failure.as_ref().is_some_and(|why| *why.code() == Code::CANCELED);
    match row.state {
        State::Delivered => "the delivery has ended already: it was delivered",
        State::Dead if is_canceled => "the delivery has ended already: it was canceled",
        State::Dead => "the delivery has ended already: it failed",
        State::Leased | State::Pending | State::Waiting => {
            "an attempt of the delivery is in flight or about to start; if it fails, cancel the delivery then"
        }
    }
}
