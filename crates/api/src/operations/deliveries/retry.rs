//! `POST /v1/deliveries/{delivery_id}/retry` and the same below a webhook: attempts it now, whatever its
//! state.

use gancho_access::Right;
use gancho_domain::{Endpoint, Lane};
use gancho_store::RetryOutcome;
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
    path: "/deliveries/{delivery_id}/retry",
    operation_id: "retryDelivery",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::accepted::<Delivery>("The delivery is due now, or an attempt is in flight."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Retry a delivery",
    about: "Attempts the delivery now, whatever its status. A delivery that was delivered or had failed starts its retry schedule from the beginning. Answers 409 if the webhook is disabled or deleted.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries/{delivery_id}/retry",
    operation_id: "retryWebhookDelivery",
    needs: Needs::Tenant(Right::Manage),
    summary: "Retry a webhook's delivery",
    ..ROUTE
};

/// A delivery that cannot succeed is refused at once: an attempt would only overwrite the reason of its
/// failure.
fn check_webhook(webhook: Option<&Endpoint>) -> Result<(), Problem> {
    let why = match webhook {
        Some(webhook) if webhook.is_active => return Ok(()),
        Some(_) => "the webhook is disabled; set `is_active` to true first",
        None => {
            "the webhook was deleted; send the event to another webhook with `POST /v1/replays`"
        }
    };
    Err(Problem::new(&codes::CONFLICT, why))
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let id = view.row.id;
    if view.row.lane == Lane::Webhook {
        check_webhook(call.api.store.endpoint(scope, view.row.target).await?.as_ref())?;
    }
    match call.api.store.retry_now(scope, id, call.api.clock.now()).await? {
        RetryOutcome::Due | RetryOutcome::InFlight => {}
        RetryOutcome::Unknown => return Err(Problem::not_found(ResourceKind::Delivery)),
    }
    let view = call.api.store.delivery(scope, id).await?;
    let view = view.ok_or_else(|| Problem::not_found(ResourceKind::Delivery))?;
    Answer::accepted(&Delivery::from(view.row))
}
