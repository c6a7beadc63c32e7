//! `POST /v1/events`: answers 202 only after the event and all its deliveries are durably stored.

use std::time::Instant;

use gancho_access::Right;
use gancho_outbound::{AcceptedEvent, RateLimitStatus};
use http::{HeaderName, HeaderValue, Method};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    new_event::{EventBody, header_trace, new_event},
};
use crate::{
    answer::{Answer, whole_seconds},
    codes,
    input::Request,
    operations::idempotency_key,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route, Takes},
};

/// An accepted event.
#[derive(Debug, Serialize, ToSchema)]
pub struct PublishedEvent {
    /// Id of the event (`evt_…`).
    pub id: String,
    /// Type of the event, as it was published.
    pub r#type: String,
    /// When the event was accepted.
    pub created_at: Timestamp,
    /// Number of webhooks that the event is delivered to.
    pub deliveries: usize,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/events",
    operation_id: "publishEvent",
    needs: Needs::Tenant(Right::Publish),
    takes: Takes::Body(EventBody::FIELDS),
    takes_idempotency_key: true,
    gives: Gives::accepted::<PublishedEvent>(
        "The event is durably stored, with a delivery for each matching webhook. A repeated idempotency key is answered with `Idempotent-Replayed: true`.",
    ),
    refuses: &[
        &codes::PLAN_LIMIT,
        &codes::SCHEMA_MISMATCH,
        &codes::UNKNOWN_EVENT_TYPE,
        &codes::RESERVED_EVENT_TYPE,
        &codes::IDEMPOTENCY_MISMATCH,
        &codes::RATE_LIMITED,
        &codes::STORAGE_FULL,
    ],
    tag: TAG,
    summary: "Publish an event",
    about: "Delivers the event to every active webhook of the tenant that is subscribed to its type.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let began = Instant::now();
    let principal = call.tenant()?;
    let header_key = idempotency_key::of_header(&call.headers)?;
    let now = call.api.clock.now();
    let mut event = new_event(&call.parse_body()?, &call.body, header_key, "", now)?;
    event.trace = header_trace(&call.headers);
    let name = event.event_type.as_str().to_owned();
    let published =
        call.api.publisher.publish(principal.scope(), principal.tenant(), event).await?;
    call.api.watch.accepted(1, began.elapsed());
    let answer = Answer::accepted(&render(&published, name))?;
    Ok(with_rate_headers(with_replay_header(answer, published.is_repeat), published.rate))
}

pub fn render(published: &AcceptedEvent, name: String) -> PublishedEvent {
    PublishedEvent {
        id: published.id.to_string(),
        r#type: name,
        created_at: Timestamp(published.created_at),
        deliveries: published.deliveries,
    }
}

pub fn with_replay_header(answer: Answer, is_repeat: bool) -> Answer {
    if !is_repeat {
        return answer;
    }
    answer.with(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"))
}

/// Adds the state of the rate limit, for tenants that have one.
pub fn with_rate_headers(answer: Answer, standing: Option<RateLimitStatus>) -> Answer {
    let Some(standing) = standing else { return answer };
    answer
        .with(HeaderName::from_static("ratelimit-limit"), HeaderValue::from(standing.limit))
        .with(HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(standing.remaining))
        .with(
            HeaderName::from_static("ratelimit-reset"),
            HeaderValue::from(whole_seconds(standing.reset)),
        )
}
