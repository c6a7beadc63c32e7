//! `GET /v1/deliveries/{delivery_id}` and the same below a webhook: a delivery, its payload and its
//! attempts.

use bytes::Bytes;
use gancho_access::{Principal, Right};
use gancho_domain::{Lane, TenantId};
use gancho_inbound::payload;
use gancho_store::DeliveryView;
use gancho_wire::{Content, Envelope};

use super::{
    TAG, dispatch_lane, find,
    view::{AttemptEntry, Delivery, DeliveryDetail},
    waiting_for::WaitContext,
};
use crate::{
    answer::Answer,
    problem::Problem,
    render::Json,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/deliveries/{delivery_id}",
    operation_id: "getDelivery",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<DeliveryDetail>("The delivery, its payload and its attempts."),
    tag: TAG,
    summary: "Get a delivery",
    about: "The operator can read the deliveries of every tenant. The content of an e-mail is at `GET /v1/emails/{outbox_id}`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries/{delivery_id}",
    operation_id: "getWebhookDelivery",
    needs: Needs::Tenant(Right::Read),
    summary: "Get a webhook's delivery",
    about: "",
    ..ROUTE
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let waiting_for = WaitContext::new(&call.api).on(&call.api, scope.tenant(), &view.row);
    let (delivery, payload) = match view.row.lane {
        Lane::Webhook => {
            let payload = rendered(&call, scope.tenant(), &view).await?;
            (Delivery::from(view.row), Some(payload))
        }
        Lane::Dispatch => {
            let source = dispatch_lane::source_of(&call, scope.tenant()).await?;
            let preset = source.as_ref().map(gancho_inbound::Source::preset);
            let payload = Json::of(&payload::for_display(preset.as_ref(), &view.parcel.body));
            let delivery = match &source {
                Some(source) => Delivery::of_source(view.row, source),
                None => Delivery::from(view.row),
            };
            (delivery, Some(payload))
        }
        Lane::Email => (Delivery::from(view.row), None),
    };
    // The operator may not know whose it is.
    let owner = match &call.principal {
        Principal::Operator(_) => call.api.access.tenants.get(scope.tenant()).await?,
        Principal::Tenant(_) => None,
    };
    let delivery = match owner {
        Some(owner) => delivery.of_tenant(&owner),
        None => delivery,
    };
    let attempt_log = view.attempts.into_iter().map(AttemptEntry::from).collect();
    Answer::ok(&DeliveryDetail { delivery: delivery.waiting(waiting_for), payload, attempt_log })
}

/// Renders the payload with the webhook's profile: the bytes that are signed.
async fn rendered(call: &Call, tenant: TenantId, view: &DeliveryView) -> Result<Json, Problem> {
    let targets = call.api.registry.of(tenant).await?;
    let known = targets.get(view.row.target).map(|target| target.profile.envelope);
    let envelope = if let Some(envelope) = known {
        envelope
    } else {
        // For a deleted webhook, the tenant's default profile is the best guess.
        let owner = call.api.access.tenants.get(tenant).await?;
        let usual = owner.and_then(|owner| call.api.registry.profile(&owner.default_profile));
        usual.map_or(Envelope::Standard, |profile| profile.envelope)
    };
    Ok(Json::of(&rendered_body(envelope, view)))
}

pub(super) fn rendered_body(envelope: Envelope, view: &DeliveryView) -> Bytes {
    let parcel = &view.parcel;
    envelope.render(&Content {
        event_id: &parcel.id.to_string(),
        event_type: &parcel.event_type,
        created_at: parcel.created_at,
        number: view.number,
        data: &parcel.body,
    })
}
