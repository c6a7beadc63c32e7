//! Renders a delivery and its attempts. A delivery names what it has: a webhook and an event, a partner and
//! a receipt, or an e-mail.

use std::collections::BTreeMap;

use gancho_domain::{
    Attempt, Lane, ReceiptLabel, Tenant,
    id::{EmailIdKind, ReceiptIdKind},
};
use gancho_inbound::Source;
use gancho_store::DeliveryRow;
use serde::Serialize;
use utoipa::ToSchema;

use super::waiting_for::WaitingFor;
use crate::render::{Json, Timestamp, words};

/// The delivery of one event, receipt or e-mail to one target.
#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    /// Id of the delivery (`dlv_…`).
    pub id: String,
    /// Slug of the tenant. Present only if the operator reads deliveries of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
    /// Id of the tenant. Present only together with `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant_id: Option<String>,
    /// What is delivered: an event, a receipt or an e-mail.
    #[schema(value_type = words::Lane)]
    pub lane: &'static str,
    /// Id of the webhook that the event is delivered to. Present only in the lane `webhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub webhook_id: Option<String>,
    /// Id of the event. Present only in the lane `webhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub event_id: Option<String>,
    /// Type of the event, e.g. `invoice.paid`. Present only in the lane `webhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub event_type: Option<String>,
    /// Name of the partner that sent the receipt. Present only in the lane `dispatch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub partner: Option<String>,
    /// Id of the receipt. Present only in the lane `dispatch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub receipt_id: Option<String>,
    /// Current URL of the target. Present only in the lane `dispatch`, and absent if the source no longer has this
    /// target.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target_url: Option<String>,
    /// Id of the e-mail, see `GET /v1/emails/{outbox_id}`. Present only in the lane `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub outbox_id: Option<String>,
    /// Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none.
    pub external_id: Option<String>,
    /// Status of the delivery.
    #[schema(value_type = words::DeliveryStatus)]
    pub status: &'static str,
    /// Number of attempts so far, including those before a retry or replay.
    pub attempts: u32,
    /// HTTP status of the last attempt's response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null
    /// if there was no response.
    pub response_status: Option<u16>,
    /// Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail.
    pub last_error: Option<String>,
    /// Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none.
    pub last_error_code: Option<String>,
    /// When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
    /// ended.
    pub next_retry_at: Option<Timestamp>,
    /// What the delivery is waiting for; null once it is delivered or has failed, and in the response to a retry.
    pub waiting_for: Option<WaitingFor>,
    /// When the successful response arrived; null if the delivery has not succeeded.
    pub delivered_at: Option<Timestamp>,
    /// Whether the delivery is of a test event.
    pub is_test: bool,
    /// When the delivery was created.
    pub created_at: Timestamp,
}

/// A delivery with its payload and its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryDetail {
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The request body that is sent; null for an e-mail.
    #[schema(value_type = Json)]
    pub payload: Option<Json>,
    /// All attempts, oldest first.
    pub attempt_log: Vec<AttemptEntry>,
}

/// One attempt of a delivery: the request and its response.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptEntry {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// When the attempt began.
    pub started_at: Timestamp,
    /// Duration of the attempt in milliseconds.
    pub latency_ms: f64,
    /// Request headers by name, as they were sent, with secrets masked. Repeated headers are joined with a comma.
    pub request_headers: BTreeMap<String, String>,
    /// HTTP status of the response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null if there was no
    /// response.
    pub response_status: Option<u16>,
    /// Response headers by name; empty if there was no response. Repeated headers are joined with a comma.
    pub response_headers: BTreeMap<String, String>,
    /// The first 16 KiB of the response body, as text; null if there was no response.
    pub response_body: Option<String>,
    /// Why the attempt failed; null if it succeeded.
    pub error: Option<String>,
    /// Code of the failure, e.g. `HTTP_503` or `TIMEOUT`; null if the attempt succeeded.
    pub error_code: Option<String>,
}

impl From<DeliveryRow> for Delivery {
    fn from(row: DeliveryRow) -> Self {
        let status = row.status().name();
        let of_lane = |lane, value: &dyn Fn() -> String| (row.lane == lane).then(value);
        let partner = || ReceiptLabel::read(&row.event_type).partner.to_owned();
        Self {
            id: row.id.to_string(),
            tenant: None,
            tenant_id: None,
            lane: row.lane.name(),
            webhook_id: of_lane(Lane::Webhook, &|| row.target.to_string()),
            event_id: of_lane(Lane::Webhook, &|| row.event.to_string()),
            event_type: of_lane(Lane::Webhook, &|| row.event_type.to_string()),
            partner: of_lane(Lane::Dispatch, &partner),
            receipt_id: of_lane(Lane::Dispatch, &|| row.event.cast::<ReceiptIdKind>().to_string()),
            target_url: None,
            outbox_id: of_lane(Lane::Email, &|| row.event.cast::<EmailIdKind>().to_string()),
            external_id: row.external_id.map(Into::into),
            status,
            attempts: row.attempts,
            response_status: row.response_status,
            last_error: row.last_failure.as_ref().map(|why| why.reason().to_owned()),
            last_error_code: row.last_failure.as_ref().map(|why| why.code().to_string()),
            next_retry_at: row.next_retry_at.map(Timestamp),
            waiting_for: None,
            delivered_at: row.delivered_at.map(Timestamp),
            is_test: row.is_test,
            created_at: Timestamp(row.created_at),
        }
    }
}

impl Delivery {
    pub fn waiting(self, waiting_for: Option<WaitingFor>) -> Self {
        Self { waiting_for, ..self }
    }

    /// For a list of all tenants.
    pub fn of_tenant(self, tenant: &Tenant) -> Self {
        let (slug, id) = (tenant.slug.clone(), tenant.id.to_string());
        Self { tenant: Some(slug), tenant_id: Some(id), ..self }
    }

    /// In the lane `dispatch`, whose targets the source has.
    pub fn of_source(row: DeliveryRow, source: &Source) -> Self {
        let target_url = source.destination_url(row.target, false).map(str::to_owned);
        Self { target_url, ..Self::from(row) }
    }
}

impl From<Attempt> for AttemptEntry {
    fn from(attempt: Attempt) -> Self {
        let body = &attempt.response_body;
        Self {
            attempt: attempt.number,
            started_at: Timestamp(attempt.started_at),
            latency_ms: attempt.latency.as_micros() as f64 / 1_000.0,
            request_headers: headers(&attempt.request_headers),
            response_status: attempt.response_status,
            response_headers: headers(&attempt.response_headers),
            response_body: attempt
                .response_status
                .map(|_| String::from_utf8_lossy(body).into_owned()),
            error: attempt.failure.as_ref().map(|why| why.reason().to_owned()),
            error_code: attempt.failure.as_ref().map(|why| why.code().to_string()),
        }
    }
}

/// Parses `name: value` lines. The values of a repeated name are joined.
fn headers(lines: &[u8]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for line in String::from_utf8_lossy(lines).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        all.entry(name.to_owned())
            .and_modify(|values| {
                values.push_str(", ");
                values.push_str(value);
            })
            .or_insert_with(|| value.to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::headers;

    #[test]
    fn headers_as_they_were() {
        let all = headers(b"a: 1\nb: x: y\na: 2\nodd\n");
        assert_eq!(all["a"], "1, 2");
        assert_eq!(all["b"], "x: y");
        assert_eq!(all.len(), 2);
    }
}
