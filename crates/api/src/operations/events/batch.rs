//! `POST /v1/events/batch`: many events, each accepted or refused independently.

use std::time::{Duration, Instant};

use gancho_access::Right;
use gancho_outbound::{AcceptedEvent, NewEvent, PublishError, RateLimitStatus};
use gancho_store::StoreError;
use http::{HeaderValue, Method, header};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    TAG,
    new_event::{EventBody, header_trace, new_event},
    publish::{render, with_rate_headers},
};
use crate::{
    answer::{Answer, whole_seconds},
    codes,
    input::{Request, body, request},
    operations::idempotency_key,
    problem::{InvalidField, Problem},
    render::Timestamp,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const MAX_EVENTS: usize = 1_000;

/// Result of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchOutcome {
    /// Number of accepted events, those with a repeated idempotency key included.
    pub accepted: usize,
    /// Number of refused events.
    pub refused: usize,
    /// One result per event, in the order of the request.
    pub results: Vec<BatchResult>,
}

/// Result of one event of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchResult {
    /// Index of the event in the request, from 0.
    pub index: usize,
    /// The HTTP status that publishing this event alone would have had: 202 if accepted.
    pub status: u16,
    /// Id of the event (`evt_…`). Absent if the event was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// Type of the event. Absent if the event was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub r#type: Option<String>,
    /// When the event was accepted. Absent if the event was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub created_at: Option<Timestamp>,
    /// Number of webhooks that the event is delivered to. Absent if the event was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub deliveries: Option<usize>,
    /// `true` if the event was published before with the same idempotency key; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub replayed: Option<bool>,
    /// Why the event was refused. Absent if it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<BatchError>,
}

/// Why an event was refused: what the error response would have said if it had been published alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchError {
    /// Stable, machine-readable error code.
    pub code: &'static str,
    /// What is wrong, and how to fix it.
    pub detail: String,
    /// One entry for each invalid field.
    pub errors: Vec<InvalidField>,
    #[serde(flatten)]
    #[schema(ignore)]
    pub more: Map<String, Value>,
}

request! {
    struct BatchBody<'a> {
        /// Events to publish, at most 1,000.
        required events: Vec<&'a str> as objects::<EventBody>(1, MAX_EVENTS),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/events/batch",
    operation_id: "publishEvents",
    needs: Needs::Tenant(Right::Publish),
    takes: Takes::Batch(BatchBody::FIELDS),
    takes_idempotency_key: true,
    gives: Gives::accepted::<BatchOutcome>(
        "The result of each event. Accepted events are durably stored. If events were refused with 429, `Retry-After` and the `RateLimit-*` headers say when to retry them.",
    ),
    refuses: &[&codes::STORAGE_FULL],
    tag: TAG,
    summary: "Publish many events",
    about: "Publishes up to 1,000 events; each is accepted or refused independently. An `Idempotency-Key` header covers the whole batch: each event without a key of its own gets one derived from the header and the event's index.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let began = Instant::now();
    let principal = call.tenant()?;
    let _turn = call.api.batches.acquire(principal.tenant().id, 1).await;
    let items = call.parse_body::<BatchBody>()?.events;
    let key = idempotency_key::of_header(&call.headers)?;

    let mut slots = Vec::with_capacity(items.len());
    let mut events = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        slots.push(match parse(&call, item, index, key) {
            Ok(event) => {
                let event_type = event.event_type.as_str().to_owned();
                events.push(event);
                Slot::Parsed { event_type }
            }
            Err(problem) => Slot::Refused(problem),
        });
    }
    let published =
        call.api.publisher.publish_all(principal.scope(), principal.tenant(), events).await;
    fail_if_the_store_failed(&published)?;
    let limit = RateLimit::of(&published);
    let mut published = published.into_iter();
    let results: Vec<_> = slots
        .into_iter()
        .enumerate()
        .map(|(index, slot)| match slot {
            Slot::Refused(problem) => refused(index, &problem),
            Slot::Parsed { event_type } => match published.next() {
                Some(Ok(one)) => accepted(index, &one, event_type),
                Some(Err(error)) => {
                    refused(index, &Problem::from(error).below(&format!("/events/{index}")))
                }
                None => refused(index, &Problem::internal("event of a batch without a result")),
            },
        })
        .collect();
    let accepted = results.iter().filter(|result| result.id.is_some()).count();
    call.api.watch.accepted(accepted, began.elapsed());
    let outcome = BatchOutcome { accepted, refused: results.len() - accepted, results };
    Ok(limit.add_headers(Answer::accepted(&outcome)?))
}

/// An event of the batch, before publishing.
enum Slot {
    Refused(Problem),
    /// The next of the published events.
    Parsed {
        event_type: String,
    },
}

/// The rate limit headers: if events were refused, the state of the limit at that moment.
#[derive(Default)]
struct RateLimit {
    standing: Option<RateLimitStatus>,
    /// Set if events were refused.
    retry_after: Option<Duration>,
}

impl RateLimit {
    fn of(published: &[Result<AcceptedEvent, PublishError>]) -> Self {
        let mut limit = Self::default();
        for one in published {
            match one {
                Ok(one) if limit.retry_after.is_none() => {
                    limit.standing = one.rate.or(limit.standing);
                }
                &Err(PublishError::TooFast { retry_after, limit: max, remaining, reset }) => {
                    limit.standing = Some(RateLimitStatus { limit: max, remaining, reset });
                    limit.retry_after = limit.retry_after.max(Some(retry_after));
                }
                _ => {}
            }
        }
        limit
    }

    fn add_headers(self, answer: Answer) -> Answer {
        let answer = with_rate_headers(answer, self.standing);
        match self.retry_after {
            Some(wait) => {
                let seconds = HeaderValue::from(whole_seconds(wait).max(1));
                answer.with(header::RETRY_AFTER, seconds)
            }
            None => answer,
        }
    }
}

fn parse(call: &Call, item: &str, index: usize, key: Option<&str>) -> Result<NewEvent, Problem> {
    let pointer = format!("/events/{index}");
    if !item.starts_with('{') {
        return Err(Problem::field(&pointer, "an event must be an object with `type` and `data`"));
    }
    let body: EventBody = body::parse_item(item, &pointer)?;
    // An event's own key wins; the key of the batch is extended by the event's index.
    let key = match &body.idempotency_key {
        Some(_) => None,
        None => key.map(|key| format!("{key}#{index}")),
    };
    let now = call.api.clock.now();
    let event = new_event(&body, &call.body, key.as_deref(), &pointer, now)?;
    Ok(NewEvent { trace: header_trace(&call.headers), ..event })
}

/// If the store accepted nothing, the whole request fails, so that the client retries all of it.
fn fail_if_the_store_failed(
    published: &[Result<AcceptedEvent, PublishError>],
) -> Result<(), Problem> {
    let first_error = published.iter().find_map(|one| match one {
        Err(PublishError::Store(error)) => Some(error),
        _ => None,
    });
    let none_accepted = !published.iter().any(Result::is_ok);
    match first_error {
        Some(error) if none_accepted => Err(StoreError::clone(error).into()),
        _ => Ok(()),
    }
}

fn accepted(index: usize, one: &AcceptedEvent, name: String) -> BatchResult {
    let render = render(one, name);
    BatchResult {
        index,
        status: 202,
        id: Some(render.id),
        r#type: Some(render.r#type),
        created_at: Some(render.created_at),
        deliveries: Some(render.deliveries),
        replayed: one.is_repeat.then_some(true),
        error: None,
    }
}

fn refused(index: usize, problem: &Problem) -> BatchResult {
    let error = BatchError {
        code: problem.code().code,
        detail: problem.detail().to_owned(),
        errors: problem.errors(),
        more: problem.more().clone(),
    };
    BatchResult {
        index,
        status: problem.code().status.as_u16(),
        id: None,
        r#type: None,
        created_at: None,
        deliveries: None,
        replayed: None,
        error: Some(error),
    }
}
