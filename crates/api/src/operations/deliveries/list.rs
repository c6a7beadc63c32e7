//! `GET /v1/deliveries` and `GET /v1/webhooks/{id}/deliveries`: newest first.

use gancho_access::{Principal, Right};
use gancho_domain::{EndpointId, Lane, Status, Time};
use gancho_store::{DeliveryFilter, DeliveryRow};

use super::{TAG, all_tenants, dispatch_lane, view::Delivery, waiting_for::WaitContext};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::Noun, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    /// The filters of both lists.
    struct DeliveryFilterQuery {
        /// Only deliveries with this status.
        optional status: Status as status(),
        /// Only deliveries of events of this type.
        optional event_type: String as id(Noun::EventType),
        /// Only deliveries of this event.
        optional event_id: String as id(Noun::Event),
        /// Only deliveries of events with this external id.
        optional external_id: String as text(1, 256),
        /// Only deliveries of events with this subject.
        optional subject: String as text(1, 256),
        /// Only deliveries that failed with this code: at their last attempt, or when they were given up. E.g. `TIMEOUT`.
        optional error_code: String as text(1, 64),
        /// Only deliveries whose last attempt got this response status.
        optional response_status: u64 as count(100, 599),
        /// Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page searches about
        /// 2,000 payloads.
        optional text: String as text(1, 256),
        /// Only deliveries created at or after this time.
        optional since: Time as time(),
        /// Only deliveries created before this time.
        optional until: Time as time(),
    }
}

request! {
    struct WebhookDeliveriesQuery {
        flatten page: Paging,
        flatten filter: DeliveryFilterQuery,
    }
}

request! {
    struct DeliveriesQuery {
        flatten page: Paging,
        flatten filter: DeliveryFilterQuery,
        /// Only deliveries to this webhook.
        optional webhook_id: String as id(Noun::Webhook),
        /// Only deliveries in this lane. Default: `webhook`.
        optional lane: Lane as lane(),
        /// Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only.
        optional partner: String as id(Noun::Source),
    }
}

pub const ROUTE: Route = Route {
    path: "/deliveries",
    operation_id: "listDeliveries",
    needs: Needs::Anyone(Right::Read),
    query: DeliveriesQuery::FIELDS,
    refuses: &[&codes::TENANT_REQUIRED, &codes::NOT_FOUND, &codes::RECEIVING_OFF],
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List deliveries",
    about: "Lists webhook deliveries unless `lane` says otherwise. The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, and cannot filter by `external_id`. Deliveries of receipts are visible to the operator only, with `lane=dispatch` and without `X-Tenant`. A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null. With `external_id`, deliveries are ordered by event, newest first.",
    run: |call| {
        Box::pin(async move {
            let query: DeliveriesQuery = call.parse_query()?;
            let endpoint = query.webhook_id.as_deref().map(str::parse).transpose();
            let endpoint = endpoint.map_err(|error: gancho_domain::id::IdParseError| {
                Problem::field("", format!("`webhook_id` is {error}"))
            })?;
            let lane = query.lane.unwrap_or(Lane::Webhook);
            list(&call, &query.page, query.filter, endpoint, lane, query.partner.as_deref()).await
        })
    },
    ..Route::DEFAULT
};

pub const OF_WEBHOOK: Route = Route {
    path: "/webhooks/{id}/deliveries",
    operation_id: "listWebhookDeliveries",
    needs: Needs::Tenant(Right::Read),
    query: WebhookDeliveriesQuery::FIELDS,
    gives: Gives::ok::<List<Delivery>>("A page of deliveries, newest first."),
    tag: TAG,
    summary: "List a webhook's deliveries",
    about: "A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| {
        Box::pin(async move {
            let id: EndpointId = call.id("id")?;
            let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
            found.ok_or_else(|| Problem::not_found(Noun::Webhook))?;
            let query: WebhookDeliveriesQuery = call.parse_query()?;
            list(&call, &query.page, query.filter, Some(id), Lane::Webhook, None).await
        })
    },
    ..Route::DEFAULT
};

async fn list(
    call: &Call,
    paging: &Paging,
    query: DeliveryFilterQuery,
    endpoint: Option<EndpointId>,
    lane: Lane,
    partner: Option<&str>,
) -> Result<Answer, Problem> {
    let page = Page::below(call, call.owner().tenant(), Some(call.path_param("id")), paging)?;
    let event = query.event_id.as_deref().map(str::parse).transpose();
    let event = event.map_err(|error: gancho_domain::id::IdParseError| {
        Problem::field("", format!("`event_id` is {error}"))
    })?;
    let filter = DeliveryFilter {
        lane: Some(lane),
        endpoint,
        status: query.status,
        event_type: query.event_type,
        event,
        external_id: query.external_id,
        subject: query.subject,
        error_code: query.error_code,
        response_status: query.response_status.and_then(|status| u16::try_from(status).ok()),
        text: query.text,
        since: query.since,
        until: query.until,
    };
    let request = page.request()?;
    let (data, next) = match &call.principal {
        Principal::Operator(_) if lane == Lane::Dispatch => {
            dispatch_lane::page(call, partner, filter, request).await?
        }
        Principal::Operator(_) if partner.is_some() => {
            let message = "`partner` filters deliveries of receipts; add `lane=dispatch`";
            return Err(Problem::field("", message));
        }
        Principal::Operator(operator) => all_tenants::page(call, operator, filter, request).await?,
        Principal::Tenant(_) if partner.is_some() => return Err(partner_refused()),
        Principal::Tenant(principal) => {
            let scope = principal.scope();
            // Of an event that was just published, they are there.
            let is_of_event = filter.event.is_some() || filter.external_id.is_some();
            let store = if is_of_event { &call.api.store } else { &call.api.reader };
            let found = store.deliveries(scope, filter, request).await?;
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
