//! Renders a receipt: in a list with its deliveries, alone with the original request and all attempts.
//! Secrets are masked.

use std::collections::BTreeMap;

use gancho_domain::Attempt;
use gancho_inbound::{Receipt, ReceiptDetail, RequestRecord, Source, payload};
use gancho_store::DeliveryRow;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations::deliveries::view::AttemptEntry,
    render::{Json, Timestamp, words},
};

/// A webhook that was accepted from a partner, with its deliveries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Receipt)]
pub struct ReceiptView {
    #[serde(flatten)]
    pub receipt: ReceiptSummary,
    /// One delivery per target, targets added by a later retry included.
    pub deliveries: Vec<ReceiptDelivery>,
}

/// A webhook that was accepted from a partner.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptSummary {
    /// Id of the receipt (`rcp_…`).
    pub id: String,
    /// Name of the partner that sent the webhook.
    pub partner: String,
    /// Id of the key that verified the webhook.
    pub key_id: String,
    /// Kind of event that the sender named, in a header such as `X-Shopify-Topic` or in the SNS message; null if it
    /// named none.
    pub topic: Option<String>,
    /// The partner's own id of the event; null if the webhook has none.
    pub event_id: Option<String>,
    /// When the webhook was received.
    pub ts_received: Timestamp,
    /// `received`, `dispatched`, `failed` (will be retried) or `dlq` (failed permanently).
    #[schema(value_type = words::ReceiptStatus)]
    pub status: &'static str,
    /// Number of attempts of all deliveries together.
    pub attempts: u32,
    /// Code and reason of the last failure of a delivery that has not succeeded, as `CODE: reason`; null if there is
    /// none.
    pub last_error: Option<String>,
    /// Whether the webhook is a test event that the gateway created itself.
    pub is_test: bool,
    /// Size of the request body in bytes.
    pub size: usize,
}

/// The delivery of a receipt to one target of its source.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptDelivery {
    /// Id of the delivery (`dlv_…`).
    pub id: String,
    /// The current URL of the target; null if the source no longer has this target.
    pub target_url: Option<String>,
    /// Status of the delivery.
    #[schema(value_type = words::DeliveryStatus)]
    pub status: &'static str,
    /// Number of attempts so far, including those before a retry or replay.
    pub attempts: u32,
    /// HTTP status of the last attempt's response; null if there was no response.
    pub response_status: Option<u16>,
    /// Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail.
    pub last_error: Option<String>,
    /// Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none.
    pub last_error_code: Option<String>,
    /// When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
    /// ended.
    pub next_retry_at: Option<Timestamp>,
    /// When the successful response arrived; null if the delivery has not succeeded.
    pub delivered_at: Option<Timestamp>,
    /// When the delivery was created.
    pub created_at: Timestamp,
}

/// A receipt with the original request and all attempts to dispatch it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReceiptDetail)]
pub struct ReceiptDetailView {
    #[serde(flatten)]
    pub receipt: ReceiptSummary,
    /// The body as it was received, with secrets masked; null if the content was erased.
    pub payload: Json,
    /// When the content of the receipt was erased; null if it was not.
    pub erased_at: Option<Timestamp>,
    /// The request headers, with secrets masked; null for old receipts, whose headers were not stored.
    pub headers: Option<BTreeMap<String, String>>,
    pub context: VerificationContext,
    /// One delivery per target, targets added by a later retry included.
    pub deliveries: Vec<ReceiptDeliveryDetail>,
}

/// A delivery of a receipt, with its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptDeliveryDetail {
    #[serde(flatten)]
    pub delivery: ReceiptDelivery,
    /// All attempts, oldest first.
    pub attempt_log: Vec<AttemptEntry>,
}

/// The facts that the policy decided on.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerificationContext {
    pub webhook: VerifiedWebhook,
    pub req: VerifiedRequest,
}

/// Who sent the webhook, as the policy saw it.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifiedWebhook {
    /// Always true: only verified webhooks become receipts.
    pub verified: bool,
    /// Name of the partner that sent the webhook.
    pub partner: String,
    /// Id of the key that verified the webhook.
    pub key_id: String,
}

/// The request, as the policy saw it.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifiedRequest {
    /// Path that the webhook was posted to.
    pub path: String,
    /// HTTP method of the request.
    pub method: String,
}

impl From<&Receipt> for ReceiptSummary {
    fn from(receipt: &Receipt) -> Self {
        Self {
            id: receipt.id.to_string(),
            partner: receipt.partner.clone(),
            key_id: receipt.key_id.clone(),
            topic: receipt.topic.clone(),
            event_id: receipt.event_id.clone(),
            ts_received: Timestamp(receipt.ts_received),
            status: receipt.status.name(),
            attempts: receipt.attempts,
            last_error: receipt.last_error.clone(),
            is_test: receipt.is_test,
            size: receipt.size,
        }
    }
}

impl ReceiptView {
    pub fn of(receipt: &Receipt, source: &Source) -> Self {
        let deliveries = receipt.deliveries.iter().map(|row| ReceiptDelivery::of(row, source));
        Self { receipt: receipt.into(), deliveries: deliveries.collect() }
    }
}

impl ReceiptDelivery {
    fn of(row: &DeliveryRow, source: &Source) -> Self {
        let failure = row.last_failure.as_ref();
        Self {
            id: row.id.to_string(),
            target_url: source.destination_url(row.target, false).map(str::to_owned),
            status: row.status().name(),
            attempts: row.attempts,
            response_status: row.response_status,
            last_error: failure.map(|why| why.reason().to_owned()),
            last_error_code: failure.map(|why| why.code().to_string()),
            next_retry_at: row.next_retry_at.map(Timestamp),
            delivered_at: row.delivered_at.map(Timestamp),
            created_at: Timestamp(row.created_at),
        }
    }
}

impl ReceiptDetailView {
    pub fn of(detail: ReceiptDetail, source: &Source) -> Self {
        let receipt = ReceiptSummary::from(&detail.receipt);
        let log = |attempts: Vec<Attempt>| attempts.into_iter().map(AttemptEntry::from).collect();
        let deliveries = detail.deliveries.into_iter().map(|view| ReceiptDeliveryDetail {
            delivery: ReceiptDelivery::of(&view.row, source),
            attempt_log: log(view.attempts),
        });
        Self {
            erased_at: detail.erased_at.map(Timestamp),
            payload: Json::of(&payload::for_display(Some(&source.preset()), &detail.payload)),
            context: VerificationContext::of(&receipt, detail.request.as_ref()),
            headers: detail.request.map(|request| headers(request.headers)),
            deliveries: deliveries.collect(),
            receipt,
        }
    }
}

impl VerificationContext {
    /// Webhooks are posted, and to one path, where the request was not kept.
    fn of(receipt: &ReceiptSummary, request: Option<&RequestRecord>) -> Self {
        let path = || format!("/webhooks/{}", receipt.partner);
        Self {
            webhook: VerifiedWebhook {
                verified: true,
                partner: receipt.partner.clone(),
                key_id: receipt.key_id.clone(),
            },
            req: VerifiedRequest {
                path: request.map_or_else(path, |request| request.path.clone()),
                method: request.map_or("POST", |request| &request.method).to_owned(),
            },
        }
    }
}

/// The values of a repeated name are joined.
fn headers(lines: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in lines {
        match all.get_mut(&name) {
            Some(values) => {
                values.push_str(", ");
                values.push_str(&value);
            }
            None => {
                all.insert(name, value);
            }
        }
    }
    all
}
