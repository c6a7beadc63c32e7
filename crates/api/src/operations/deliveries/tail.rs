//! `GET /v1/deliveries/tail`: what happens to deliveries, as it happens, as server-sent events.

mod event;
mod stream;

use axum::body::Body;
use gancho_access::{Principal, Right};
use gancho_domain::{Lane, Pattern, Status, TenantScope};
use gancho_engine::TailFilter;
use http::{HeaderName, HeaderValue};

use self::{event::DeliveryEvent, stream::TailStream};
use super::TAG;
use crate::{
    answer::Answer,
    auth::Credential,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

const MEDIA_TYPE: &str = "text/event-stream";
/// Proxies must pass events on as they come.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

request! {
    struct TailQuery {
        /// Only deliveries to this webhook.
        optional webhook_id: String as id(ResourceKind::Webhook),
        /// Only deliveries of events of this type, or of all types with a prefix, e.g. `invoice.*`.
        optional event_type: String as text(1, 128),
        /// Only changes after which a delivery has this status.
        optional status: Status as status(),
        /// Only deliveries in this lane. Default: `webhook`. `dispatch` is for the operator, without `X-Tenant`.
        optional lane: Lane as lane(),
        /// Approximate maximum of events per second. Beyond it, a sample of the deliveries is shown, each with all of
        /// its events, and the rest is counted by `missed`. Default: no limit.
        optional max_rate: u32 as count(1, 10_000),
    }
}

pub const ROUTE: Route = Route {
    path: "/deliveries/tail",
    operation_id: "tailDeliveries",
    needs: Needs::Anyone(Right::Read),
    query: TailQuery::FIELDS,
    refuses: &[&codes::RATE_LIMITED, &codes::NOT_FOUND],
    gives: Gives {
        media_type: MEDIA_TYPE,
        ..Gives::ok::<DeliveryEvent>(
            "A stream of server-sent events that does not end by itself. The schema is that of the `data` of a `delivery` event.",
        )
    },
    tag: TAG,
    summary: "Watch deliveries live",
    about: "Streams a `delivery` event whenever a delivery is accepted and whenever an attempt ends. `missed` (`{\"count\": 12}`) reports how many events were dropped because the client read too slowly, or beyond `max_rate`. `end` (`{\"code\": \"…\"}`) is the last event: `invalid_credentials` if the key was revoked or has expired, `unavailable` if the gateway is stopping. A comment is sent at least every 15 seconds. The tail does not resume after a reconnect: read `GET /v1/deliveries` for what was missed.\n\nIt covers all nodes. What other nodes do arrives within about two seconds, and at most 50 changes a second of each of them, with the rest counted by `missed`. At most 8 tails per tenant, and 100 of the operator, are open on a node; further requests get 429. A revoked credential ends its tails within 2 seconds.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter(&call).await?;
    let slot = call.api.tails.begin(call.limited_tenant())?;
    // From here on nothing is missed: the caller may publish as soon as it has the head of the response.
    let tail = call.api.engine.tail(filter);
    let credential = Credential::of(&call.headers, call.route.needs);
    let names_tenants = matches!(call.principal, Principal::Operator(_));
    let stream = TailStream::new(call.api.clone(), tail, slot, credential, names_tenants);
    let answer = Answer::stream(MEDIA_TYPE, Body::from_stream(stream.into_stream()));
    Ok(answer.with(X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
}

/// What could match nothing is refused: a stream that stays empty says nothing.
async fn filter(call: &Call) -> Result<TailFilter, Problem> {
    let query: TailQuery = call.parse_query()?;
    let scope: Option<TenantScope> = match &call.principal {
        Principal::Tenant(principal) => Some(principal.scope()),
        Principal::Operator(_) => None,
    };
    let target = query.webhook_id.as_deref().map(str::parse).transpose();
    let target = target.map_err(|error: gancho_domain::id::IdParseError| {
        Problem::field("", format!("`webhook_id` is {error}"))
    })?;
    let lane = query.lane.unwrap_or(Lane::Webhook);
    if lane == Lane::Dispatch && scope.is_some() {
        let detail = "only the operator can watch the lane `dispatch`, without `X-Tenant`";
        return Err(Problem::new(&codes::OPERATOR_ONLY, detail));
    }
    if let Some(target) = target {
        if lane != Lane::Webhook {
            let message = "`webhook_id` selects deliveries in the lane `webhook`; leave out `lane`";
            return Err(Problem::field("", message));
        }
        let owner = call.api.store.endpoint_owner(target).await?;
        let is_seen = owner.is_some_and(|owner| scope.is_none_or(|own| own.tenant() == owner));
        if !is_seen {
            return Err(Problem::not_found(ResourceKind::Webhook));
        }
    }
    let event_type = query.event_type.as_deref().map(str::parse::<Pattern>).transpose();
    let event_type =
        event_type.map_err(|error| Problem::field("", format!("`event_type`: {error}")))?;
    Ok(TailFilter {
        scope,
        lane: Some(lane),
        target,
        event_type,
        status: query.status,
        max_rate: query.max_rate,
        is_local: false,
    })
}
