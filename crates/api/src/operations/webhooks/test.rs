//! `POST /v1/webhooks/{id}/test` and `POST /v1/webhooks/test`: sends a sample event as a real delivery, and
//! returns its result.

use gancho_access::Right;
use gancho_domain::EndpointId;
use gancho_outbound::{EndpointTest, test_endpoint};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    operations::deliveries::view::AttemptEntry,
    problem::Problem,
    render::words,
    route::{Call, Gives, Needs, PEER_TIMEOUT, Route, Takes},
};

/// Result of a test delivery.
#[derive(Debug, Serialize, ToSchema)]
pub struct TestOutcome {
    /// Whether the webhook responded with 2xx.
    pub success: bool,
    /// Id of the test delivery (`dlv_…`).
    pub delivery_id: String,
    /// Id of the sample event (`evt_…`).
    pub event_id: String,
    /// Type of the sample event.
    pub event_type: String,
    /// Status of the delivery after the first attempt.
    #[schema(value_type = words::DeliveryStatus)]
    pub status: &'static str,
    /// HTTP status of the response; null if there was no response.
    pub response_status: Option<u16>,
    /// Duration of the attempt in milliseconds; null if none was made in time.
    pub latency_ms: Option<f64>,
    /// The first 16 KiB of the response body, as text; null if there was no response.
    pub response_body: Option<String>,
    /// Why the test failed; null if it succeeded.
    pub error: Option<String>,
    /// The attempt in detail; null if none was made in time.
    pub attempt: Option<AttemptEntry>,
}

const NOT_TRIED: &str = "no attempt was made in time: the endpoint has not answered earlier ones yet. hint: look at the delivery again in a minute";

request! {
    struct TestBody {
        /// Event type of the sample. Default: one that the webhook is subscribed to.
        optional event_type: String as text(1, 128),
    }
}

request! {
    struct TestByIdBody {
        /// Id of the webhook to test.
        required webhook_id: String as id(ResourceKind::Webhook),
        flatten test: TestBody,
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/webhooks/{id}/test",
    operation_id: "testWebhook",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Maybe(TestBody::FIELDS),
    gives: Gives::ok::<TestOutcome>("The result of the first attempt."),
    refuses: &[&codes::CONFLICT, &codes::RATE_LIMITED, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Test a webhook",
    about: "Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is marked as a test in the delivery log.",
    timeout: PEER_TIMEOUT,
    run: |call| {
        Box::pin(async move {
            let id = call.id("id")?;
            let body: TestBody = call.parse_body()?;
            test(&call, id, body.event_type).await
        })
    },
    ..Route::DEFAULT
};

pub const BY_BODY: Route = Route {
    path: "/webhooks/test",
    operation_id: "testWebhookByBody",
    takes: Takes::Body(TestByIdBody::FIELDS),
    refuses: &[&codes::NOT_FOUND, &codes::CONFLICT, &codes::RATE_LIMITED, &codes::STORAGE_FULL],
    summary: "Test a webhook, named in the body",
    run: |call| {
        Box::pin(async move {
            let body: TestByIdBody = call.parse_body()?;
            let id =
                body.webhook_id.parse().map_err(|_| Problem::not_found(ResourceKind::Webhook))?;
            test(&call, id, body.test.event_type).await
        })
    },
    ..ROUTE
};

async fn test(call: &Call, id: EndpointId, event_type: Option<String>) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let _slot = call.api.tests.take(call.limited_tenant())?;
    let outcome =
        test_endpoint(&call.api.publisher, principal.scope(), principal.tenant(), id, event_type)
            .await?;
    Answer::ok(&TestOutcome::from(outcome))
}

impl From<EndpointTest> for TestOutcome {
    fn from(outcome: EndpointTest) -> Self {
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
            error: match of {
                Some(attempt) => attempt.error.clone(),
                None => Some(NOT_TRIED.to_owned()),
            },
            attempt,
        }
    }
}
