//! The content of each notice.

use bytes::Bytes;
use gancho_domain::{
    DeliveryId, DisableReason, Endpoint, EndpointId, Failure, TenantId, Time, mask::MASK,
};
use gancho_store::Job;
use serde_json::{Value, json};

use super::digest::Window;

pub const EXHAUSTED: &str = "webhook.delivery.exhausted";
pub const FAILING: &str = "webhook.endpoint.failing";
pub const DISABLED: &str = "webhook.endpoint.disabled";

pub struct Notice {
    pub event_type: &'static str,
    pub data: Bytes,
    /// The endpoint that the notice is about. It does not get the notice itself, because it is failing.
    pub about: EndpointId,
}

/// A delivery that became a dead letter.
pub struct ExhaustedDelivery<'a> {
    pub job: &'a Job,
    pub url: Option<&'a str>,
    pub attempts: u32,
    pub failure: &'a Failure,
    pub at: Time,
}

/// The deliveries that an endpoint missed until it was disabled.
pub(crate) struct MissedDeliveries {
    pub since: Time,
    pub failed_deliveries: u64,
    pub is_exact: bool,
}

impl Notice {
    pub fn exhausted(what: &ExhaustedDelivery<'_>) -> Self {
        let ExhaustedDelivery { job, url, attempts, failure, at } = what;
        let data = json!({
            "is_digest": false,
            "tenant_id": job.tenant.to_string(),
            "webhook_id": job.target.to_string(),
            "url": url.map(without_query),
            "delivery_id": job.delivery.to_string(),
            "event_id": job.parcel.id.to_string(),
            "event_type": job.parcel.event_type,
            "external_id": job.parcel.external_id,
            "failed_attempts": attempts,
            "last_failure_code": failure.code().as_str(),
            "last_failure_reason": failure.reason(),
            "last_failure_timestamp": at.to_string(),
            "enqueued_at": job.created_at.to_string(),
            "replay": { "method": "POST", "path": replay_one(job.delivery) },
        });
        Self::new(EXHAUSTED, job.target, &data)
    }

    /// A digest of many dead letters of one endpoint.
    pub(crate) fn digest(tenant: TenantId, endpoint: EndpointId, window: &Window) -> Self {
        let filter = json!({
            "webhook_id": endpoint.to_string(),
            "status": "failed",
            "since": window.oldest.to_string(),
        });
        let data = json!({
            "is_digest": true,
            "tenant_id": tenant.to_string(),
            "webhook_id": endpoint.to_string(),
            "url": window.url.as_deref().map(without_query),
            "failed_deliveries": window.counted,
            "is_exact": window.is_exact(),
            "by_failure_code": window.by_code,
            "since": window.since.to_string(),
            "until": window.until.to_string(),
            "replay": { "method": "POST", "path": "/v1/replays", "body": { "filter": filter } },
        });
        Self::new(EXHAUSTED, endpoint, &data)
    }

    pub(crate) fn failing(
        endpoint: &Endpoint,
        disabled_at: Time,
        failure: Option<&Failure>,
    ) -> Self {
        let mut data = about(endpoint, failure);
        data["disabled_at"] = disabled_at.to_string().into();
        Self::new(FAILING, endpoint.id, &data)
    }

    pub(crate) fn disabled(
        endpoint: &Endpoint,
        why: DisableReason,
        missed: &MissedDeliveries,
        failure: Option<&Failure>,
    ) -> Self {
        let mut data = about(endpoint, failure);
        let since = missed.since.to_string();
        data["reason"] = why.name().into();
        data["missed"] = json!({
            "since": since,
            "failed_deliveries": missed.failed_deliveries,
            "is_exact": missed.is_exact,
        });
        let filter = json!({
            "webhook_id": endpoint.id.to_string(),
            "status": "failed",
            "since": since,
        });
        data["replay"] =
            json!({ "method": "POST", "path": "/v1/replays", "body": { "filter": filter } });
        Self::new(DISABLED, endpoint.id, &data)
    }

    fn new(event_type: &'static str, about: EndpointId, data: &Value) -> Self {
        Self { event_type, about, data: Bytes::from(data.to_string()) }
    }
}

fn about(endpoint: &Endpoint, failure: Option<&Failure>) -> Value {
    json!({
        "tenant_id": endpoint.tenant.to_string(),
        "webhook_id": endpoint.id.to_string(),
        "name": endpoint.name,
        "url": without_query(&endpoint.url),
        "failing_since": endpoint.health.failing_since.map(|time| time.to_string()),
        "last_failure_code": failure.map(|failure| failure.code().as_str()),
        "last_failure_reason": failure.map(Failure::reason),
    })
}

/// Returns the URL without its query, which may contain a token: notices go to other servers than the
/// endpoint's own.
fn without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((place, _)) => format!("{place}?{MASK}"),
        None => url.to_owned(),
    }
}

fn replay_one(delivery: DeliveryId) -> String {
    format!("/v1/dlq/{delivery}/replay")
}
