//! `GET /v1/deliveries/{delivery_id}` and the same below a webhook: a delivery, what was sent, and
//! every attempt.

use gancho_store::DeliveryView;
use gancho_wire::{Content, Envelope};

use super::{
    TAG, find,
    view::{AttemptEntry, Delivery, DeliveryDetail},
};
use crate::{
    answer::Answer,
    auth::Right,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::Json,
};

pub const ROUTE: Route = Route {
    path: "/deliveries/{delivery_id}",
    needs: Needs::Tenant(Right::Read),
    gives: Gives::ok::<DeliveryDetail>("The delivery, its payload and its attempts."),
    tag: TAG,
    summary: "Show a delivery",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries/{delivery_id}",
    summary: "Show a webhook's delivery",
    ..ROUTE
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let view = find(&call).await?;
    let payload = payload(&call, &view).await?;
    Answer::ok(&DeliveryDetail {
        delivery: Delivery::from(view.row),
        payload,
        attempt_log: view.attempts.into_iter().map(AttemptEntry::from).collect(),
    })
}

/// As the webhook's profile renders it: what the signature is made over.
async fn payload(call: &Call, view: &DeliveryView) -> Result<Json, Problem> {
    let acting = call.tenant()?;
    let targets = call.api.registry.of(acting.scope().tenant()).await?;
    let known = targets.get(view.row.target).map(|target| target.profile.envelope);
    // Of a webhook that is gone, the tenant's usual one is the best guess.
    let usual = || {
        let profile = call.api.registry.profile(&acting.tenant().default_profile);
        profile.map_or(Envelope::Standard, |profile| profile.envelope)
    };
    let parcel = &view.parcel;
    let body = known.unwrap_or_else(usual).render(&Content {
        event_id: &parcel.id.to_string(),
        event_type: &parcel.event_type,
        created_at: parcel.created_at,
        number: view.number,
        data: &parcel.body,
    });
    Ok(Json::of(&body))
}
