//! `GET /v1/deliveries` and `GET /v1/webhooks/{id}/deliveries`: newest first.

use gancho_access::{Right, Who};
use gancho_domain::{EndpointId, Lane};
use gancho_store::{DeliveryFilter, DeliveryRow};

use super::{TAG, dispatched, view::Delivery, waiting::Holds};
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
    route::{Call, Gives, Needs, Route},
    show::List,
};

const STATUS: Field = Field::new(
    "status",
    Kind::Choice(&["pending", "retrying", "delivered", "failed"]),
    "Only with this status.",
);
const EVENT_TYPE: Field = Field::new("event_type", Kind::Id(Noun::EventType), "Only of this type.");
const EVENT_ID: Field = Field::new("event_id", Kind::Id(Noun::Event), "Only of this event.");
const EXTERNAL_ID: Field = Field::new(
    "external_id",
    Kind::Text { least: 1, most: 256 },
    "Only of events with the publisher's own id.",
);
const SINCE: Field = Field::new("since", Kind::Time, "Made at or after.");
const UNTIL: Field = Field::new("until", Kind::Time, "Made before.");
const LANE: Field = Field::new(
    "lane",
    Kind::Choice(&["webhook", "dispatch", "email"]),
    "Of which lane: `webhook` unless it is named.",
);
const WEBHOOK_ID: Field =
    Field::new("webhook_id", Kind::Id(Noun::Webhook), "Only to this webhook.");
const PARTNER: Field = Field::new(
    "partner",
    Kind::Id(Noun::Source),
    "For the operator, in the lane `dispatch`: only of this partner.",
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
    gives: Gives::ok::<List<Delivery>>("A page of them, newest first."),
    tag: TAG,
    summary: "List deliveries",
    about: "Of webhooks, unless another lane is named: e-mails and receipts have lists of their own. What was received from partners is the operator's to see: with `lane=dispatch` and without `X-Tenant`. With a filter a page may hold fewer than `limit`, even none, and still have a next: it looks at a bounded number of deliveries. With `external_id` they come by event, the newest first.",
    run: |call| {
        Box::pin(async move {
            let endpoint = call.query.text("webhook_id").map(str::parse).transpose();
            let endpoint = endpoint.map_err(|fault: gancho_domain::id::IdParseError| {
                Problem::field("", format!("`webhook_id` is {fault}"))
            })?;
            let lane = call.query.text("lane").and_then(|lane| lane.parse().ok());
            let partner = call.query.string("partner");
            list(call, endpoint, lane.unwrap_or(Lane::Webhook), partner).await
        })
    },
    ..Route::PLAIN
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries",
    needs: Needs::Tenant(Right::Read),
    query: &[LIMIT, CURSOR, STATUS, EVENT_TYPE, EVENT_ID, EXTERNAL_ID, SINCE, UNTIL],
    gives: Gives::ok::<List<Delivery>>("A page of them, newest first."),
    tag: TAG,
    summary: "List a webhook's deliveries",
    about: "With a filter a page may hold fewer than `limit`, even none, and still have a next: it looks at a bounded number of deliveries.",
    run: |call| {
        Box::pin(async move {
            let id: EndpointId = call.id("id")?;
            let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
            found.ok_or_else(|| Problem::not_found(Noun::Webhook))?;
            list(call, Some(id), Lane::Webhook, None).await
        })
    },
    ..Route::PLAIN
};

async fn list(
    call: Call,
    endpoint: Option<EndpointId>,
    lane: Lane,
    partner: Option<String>,
) -> Result<Answer, Problem> {
    let query = &call.query;
    let page = Page::below(&call, call.owner().tenant(), Some(call.part("id")))?;
    let event = query.text("event_id").map(str::parse).transpose();
    let event = event.map_err(|fault: gancho_domain::id::IdParseError| {
        Problem::field("", format!("`event_id` is {fault}"))
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
    let (data, next) = match &call.who {
        Who::Operator(_) if lane == Lane::Dispatch => {
            dispatched::page(&call, partner.as_deref(), filter, request).await?
        }
        Who::Tenant(_) if partner.is_some() => return Err(for_operators()),
        _ => {
            let scope = call.tenant()?.scope();
            let found = call.api.store.deliveries(scope, filter, request).await?;
            let holds = Holds::read(&call.api).await?;
            let shown = |row: DeliveryRow| {
                let waiting_for = holds.on(&call.api, scope.tenant(), &row);
                Delivery::from(row).waiting(waiting_for)
            };
            (found.rows.into_iter().map(shown).collect(), found.next)
        }
    };
    page.answer(data, next)
}

fn for_operators() -> Problem {
    let detail = "only the operator may name a partner: leave `partner` out";
    Problem::new(&codes::OPERATOR_ONLY, detail)
}
