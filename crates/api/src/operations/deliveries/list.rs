//! `GET /v1/deliveries` and `GET /v1/webhooks/{id}/deliveries`: newest first.

use gancho_access::{Principal, Right};
use gancho_domain::{EndpointId, Lane};
use gancho_store::{DeliveryFilter, DeliveryRow};

use super::{TAG, dispatch_lane, view::Delivery, waiting_for::WaitContext};
use crate::{
    answer::Answer,
    codes,
    input::{
        Field, Kind,
        field::Noun,
        query::{CURSOR, LIMIT},
    },
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

const STATUS: Field = Field::new(
    "status",
    Kind::Choice(&["pending", "retrying", "delivered", "failed"]),
    "Only deliveries with this status.",
);
const EVENT_TYPE: Field =
    Field::new("event_type", Kind::Id(Noun::EventType), "Only deliveries of events of this type.");
const EVENT_ID: Field =
    Field::new("event_id", Kind::Id(Noun::Event), "Only deliveries of this event.");
const EXTERNAL_ID: Field = Field::new(
    "external_id",
    Kind::Text { min: 1, max: 256 },
    "Only deliveries of events with this external id.",
);
const SINCE: Field =
    Field::new("since", Kind::Time, "Only deliveries created at or after this time.");
const UNTIL: Field = Field::new("until", Kind::Time, "Only deliveries created before this time.");
const LANE: Field = Field::new(
    "lane",
    Kind::Choice(&["webhook", "dispatch", "email"]),
    "Only deliveries in this lane. Default: `webhook`.",
);
const WEBHOOK_ID: Field =
    Field::new("webhook_id", Kind::Id(Noun::Webhook), "Only deliveries to this webhook.");
const PARTNER: Field = Field::new(
    "partner",
    Kind::Id(Noun::Source),
    "Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only.",
);

pub const ROUTE: Route = Route {
    path: "/deliveries",
    needs: Needs::Anyone(Right::Read),
    query: &[
        LIMIT,
        CURSOR,
        STATUS,
        EVENT_TYPE,
        EVENT_ID,
        EXTERNAL_ID,
        SINCE,
        UNTIL,
        WEBHOOK_ID,
        LANE,
        PARTNER,
    ],
    refuses: &[&codes::TENANT_REQUIRED, &codes::NOT_FOUND, &codes::RECEIVING_OFF],
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List deliveries",
    about: "Lists webhook deliveries unless `lane` says otherwise. Deliveries of receipts are visible to the operator only, with `lane=dispatch` and without `X-Tenant`. A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null. With `external_id`, deliveries are ordered by event, newest first.",
    run: |call| {
        Box::pin(async move {
            let endpoint = call.query.text("webhook_id").map(str::parse).transpose();
            let endpoint = endpoint.map_err(|error: gancho_domain::id::NotAnId| {
                Problem::field("", format!("`webhook_id` is {error}"))
            })?;
            let lane = call.query.text("lane").and_then(|lane| lane.parse().ok());
            let partner = call.query.string("partner");
            list(call, endpoint, lane.unwrap_or(Lane::Webhook), partner).await
        })
    },
    ..Route::DEFAULT
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries",
    needs: Needs::Tenant(Right::Read),
    query: &[LIMIT, CURSOR, STATUS, EVENT_TYPE, EVENT_ID, EXTERNAL_ID, SINCE, UNTIL],
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List a webhook's deliveries",
    about: "A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| {
        Box::pin(async move {
            let id: EndpointId = call.id("id")?;
            let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
            found.ok_or_else(|| Problem::not_found(Noun::Webhook))?;
            list(call, Some(id), Lane::Webhook, None).await
        })
    },
    ..Route::DEFAULT
};

async fn list(
    call: Call,
    endpoint: Option<EndpointId>,
    lane: Lane,
    partner: Option<String>,
) -> Result<Answer, Problem> {
    let query = &call.query;
    let page = Page::below(&call, call.owner().tenant(), Some(call.path_param("id")))?;
    let event = query.text("event_id").map(str::parse).transpose();
    let event = event.map_err(|error: gancho_domain::id::NotAnId| {
        Problem::field("", format!("`event_id` is {error}"))
    })?;
    let filter = DeliveryFilter {
        lane: Some(lane),
        endpoint,
        status: query.text("status").and_then(|status| status.parse().ok()),
        event_type: query.string("event_type"),
        event,
        external_id: query.string("external_id"),
        since: query.time("since"),
        until: query.time("until"),
    };
    let request = page.request()?;
    let (data, next) = match &call.principal {
        Principal::Operator(_) if lane == Lane::Dispatch => {
            dispatch_lane::page(&call, partner.as_deref(), filter, request).await?
        }
        Principal::Tenant(_) if partner.is_some() => return Err(partner_refused()),
        _ => {
            let scope = call.tenant()?.scope();
            let found = call.api.store.deliveries(scope, filter, request).await?;
            let context = WaitContext::read(&call.api).await?;
            let render = |row: DeliveryRow| {
                let waiting_for = context.on(&call.api, scope.tenant(), &row);
                Delivery::from(row).waiting(waiting_for)
            };
            (found.rows.into_iter().map(render).collect(), found.next)
        }
    };
    page.answer(data, next)
}

fn partner_refused() -> Problem {
    let detail = "only the operator can filter by partner; leave out `partner`";
    Problem::new(&codes::OPERATOR_ONLY, detail)
}
