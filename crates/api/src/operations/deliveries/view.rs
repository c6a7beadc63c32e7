//! Renders a delivery and its attempts. A delivery names what it has: a webhook and an event, a partner and
//! a receipt, or an e-mail.

use std::collections::BTreeMap;

use gancho_domain::{
    Attempt, Lane, ReceiptLabel, Status, Tenant,
    id::{EmailIdKind, ReceiptIdKind},
};
use gancho_inbound::Source;
use gancho_store::DeliveryRow;
use serde::Serialize;
use utoipa::ToSchema;

use super::waiting_for::{Reason, WaitingFor};
use crate::render::{Json, Timestamp, words};

#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    pub id: String,
    /// Slug of the tenant. Only where the operator reads those of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// `webhook`, `dispatch` or `email`.
    #[schema(value_type = words::Lane)]
    pub lane: &'static str,
    /// The webhook that it is delivered to. Lane `webhook` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_id: Option<String>,
    /// The event that is delivered. Lane `webhook` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    /// Lane `webhook` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// The partner that sent the receipt. Lane `dispatch` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    /// The receipt that is delivered. Lane `dispatch` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<String>,
    /// The current URL of the target; absent if the source no longer has this target. Lane `dispatch` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
    /// The e-mail, see `GET /v1/emails/{outbox_id}`. Lane `email` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outbox_id: Option<String>,
    /// The publisher's own id of the event or e-mail, or the partner's event id of a receipt.
    pub external_id: Option<String>,
    /// `pending`, `retrying`, `delivered` or `failed`.
    #[schema(value_type = words::DeliveryStatus)]
    pub status: &'static str,
    /// Number of attempts so far.
    pub attempts: u32,
    /// HTTP status of the last attempt's response.
    pub response_status: Option<u16>,
    /// Why the delivery failed permanently, or else why the last attempt failed.
    pub last_error: Option<String>,
    pub last_error_code: Option<String>,
    /// When the next attempt is due.
    pub next_retry_at: Option<Timestamp>,
    /// What the delivery is waiting for; null once it is delivered or has failed.
    pub waiting_for: Option<WaitingFor>,
    pub delivered_at: Option<Timestamp>,
    /// Whether it was created by a test call.
    pub is_test: bool,
    pub created_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryDetail {
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The request body that is sent; null for an e-mail.
    #[schema(value_type = Json)]
    pub payload: Option<Json>,
    /// Oldest first.
    pub attempt_log: Vec<AttemptEntry>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptEntry {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    pub started_at: Timestamp,
    pub latency_ms: f64,
    /// The headers that were sent, with secrets masked.
    pub request_headers: BTreeMap<String, String>,
    pub response_status: Option<u16>,
    pub response_headers: BTreeMap<String, String>,
    /// The first 16 KiB of the response body.
    pub response_body: Option<String>,
    pub error: Option<String>,
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
        // Leased to a node, where it waits for its turn.
        let is_queued = waiting_for.as_ref().is_some_and(|why| why.reason != Reason::Attempt);
        let status = match self.status {
            "in_flight" if is_queued => Status::Pending.name(),
            status => status,
        };
        Self { status, waiting_for, ..self }
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
