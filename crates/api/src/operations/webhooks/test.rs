//! `POST /v1/webhooks/{id}/test` and `POST /v1/webhooks/test`: sends a sample event as a real delivery, and
//! returns its result.

use gancho_access::Right;
use gancho_domain::EndpointId;
use gancho_outbound::{TryOut, try_out};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind, field::Noun},
    operations::deliveries::view::AttemptEntry,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

#[derive(Debug, Serialize, ToSchema)]
pub struct TestOutcome {
    /// Whether the webhook responded with 2xx.
    pub success: bool,
    pub delivery_id: String,
    pub event_id: String,
    pub event_type: String,
    /// `pending`, `retrying`, `delivered` or `failed`.
    pub status: &'static str,
    pub response_status: Option<u16>,
    pub latency_ms: Option<f64>,
    pub response_body: Option<String>,
    pub error: Option<String>,
    /// The attempt in detail; null if there was none in time.
    pub attempt: Option<AttemptEntry>,
}

const EVENT_TYPE: Field = Field::new(
    "event_type",
    Kind::Text { min: 1, max: 128 },
    "Event type of the sample. Default: one that the webhook is subscribed to.",
);

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/test",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Maybe(&[EVENT_TYPE]),
    gives: Gives::ok::<TestOutcome>("The result of the first attempt."),
    refuses: &[&codes::CONFLICT, &codes::RATE_LIMITED, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Test a webhook",
    about: "Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is marked as a test in the delivery log.",
    run: |call| {
        Box::pin(async move {
            let id = call.id("id")?;
            let event_type = call.values()?.string("event_type");
            test(&call, id, event_type).await
        })
    },
    ..Route::DEFAULT
};

pub const BY_BODY: Route = Route {
    path: "/webhooks/test",
    takes: Takes::Body(&[
        Field::new("webhook_id", Kind::Id(Noun::Webhook), "Webhook to test.").required(),
        EVENT_TYPE,
    ]),
    refuses: &[&codes::NOT_FOUND, &codes::CONFLICT, &codes::RATE_LIMITED, &codes::STORAGE_FULL],
    summary: "Test a webhook, named in the body",
    run: |call| {
        Box::pin(async move {
            let values = call.values()?;
            let id = values.text("webhook_id").unwrap_or_default().parse();
            let id = id.map_err(|_| Problem::not_found(Noun::Webhook))?;
            let event_type = values.string("event_type");
            test(&call, id, event_type).await
        })
    },
    ..ROUTE
};

async fn test(call: &Call, id: EndpointId, event_type: Option<String>) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let outcome =
        try_out(&call.api.publisher, principal.scope(), principal.tenant(), id, event_type).await?;
    Answer::ok(&TestOutcome::from(outcome))
}

impl From<TryOut> for TestOutcome {
    fn from(outcome: TryOut) -> Self {
        let attempt = outcome.attempt.map(AttemptEntry::from);
        let of = attempt.as_ref();
        Self {
            success: outcome.status == gancho_domain::Status::Delivered,
            delivery_id: outcome.delivery.to_string(),
            event_id: outcome.event.to_string(),
            event_type: outcome.event_type,
            status: outcome.status.name(),
            response_status: of.and_then(|attempt| attempt.response_status),
            latency_ms: of.map(|attempt| attempt.latency_ms),
            response_body: of.and_then(|attempt| attempt.response_body.clone()),
            error: of.and_then(|attempt| attempt.error.clone()),
            attempt,
        }
    }
}
