//! How sources, keys, receipts and rejections are shown. No secret is in any of them.

use std::collections::BTreeMap;

use gancho_domain::Time;
use gancho_inbound::{Receipt, Rejection, Source, SourceKey, tally::Counts};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    show::{Json, Stamp},
    webhooks::view::{RateLimit, Retry},
};

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceView {
    pub id: String,
    pub partner: String,
    pub is_active: bool,
    pub preset: Json,
    pub targets: Vec<String>,
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    pub rate_limit: Option<RateLimit>,
    /// Null where it is the preset's own.
    pub event_id_pointer: Option<String>,
    /// Null where it is the lane's own.
    pub retry: Option<Retry>,
    pub has_verify_token: bool,
    pub created_at: Stamp,
    pub updated_at: Stamp,
}

impl From<&Source> for SourceView {
    fn from(source: &Source) -> Self {
        Self {
            id: source.id.to_string(),
            partner: source.partner.to_string(),
            is_active: source.is_active,
            preset: Json(source.preset_text().to_owned()),
            targets: source.targets.iter().map(|target| target.url.clone()).collect(),
            schema: source.schema.clone().map(Json),
            rate_limit: source.rate().map(RateLimit::of),
            event_id_pointer: source.event_id_pointer.clone(),
            retry: source.retry().as_ref().map(Retry::of),
            has_verify_token: source.has_verify_token(),
            created_at: Stamp(source.created_at()),
            updated_at: Stamp(source.updated_at()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NewSource {
    #[serde(flatten)]
    pub source: SourceView,
    /// Signs what is dispatched. Shown only here.
    pub dispatch_secret: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceCounts {
    #[serde(flatten)]
    pub source: SourceView,
    /// Counted on this node since it started.
    pub counts: CountsView,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct CountsView {
    pub received: u64,
    pub repeats: u64,
    /// Ids that came again with another body, which was not kept.
    pub clashes: u64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        Self { received: counts.received, repeats: counts.repeats, clashes: counts.clashes }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceKeyView {
    pub key_id: String,
    pub scheme: &'static str,
    pub encoding: String,
    #[serde(rename = "publicKey")]
    pub public_key: Option<String>,
    pub not_before: Option<Stamp>,
    pub not_after: Option<Stamp>,
    /// Whether it is good now.
    pub is_valid: bool,
    pub created_at: Stamp,
}

impl SourceKeyView {
    pub fn of(key: &SourceKey, now: Time) -> Self {
        Self {
            key_id: key.key_id.clone(),
            scheme: key.scheme.name(),
            encoding: key.encoding.clone(),
            public_key: key.public_key.clone(),
            not_before: key.not_before().map(Stamp),
            not_after: key.not_after().map(Stamp),
            is_valid: key.is_valid_at(now),
            created_at: Stamp(key.created_at()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptView {
    pub id: String,
    pub partner: String,
    pub key_id: String,
    pub topic: Option<String>,
    pub event_id: Option<String>,
    pub ts_received: Stamp,
    pub status: &'static str,
    pub attempts: u32,
    pub last_error: Option<String>,
    pub is_test: bool,
    pub size: usize,
    /// One for each target.
    pub deliveries: Vec<String>,
}

impl From<Receipt> for ReceiptView {
    fn from(receipt: Receipt) -> Self {
        Self {
            id: receipt.id.to_string(),
            partner: receipt.partner,
            key_id: receipt.key_id,
            topic: receipt.topic,
            event_id: receipt.event_id,
            ts_received: Stamp(receipt.ts_received),
            status: receipt.status.name(),
            attempts: receipt.attempts,
            last_error: receipt.last_error,
            is_test: receipt.is_test,
            size: receipt.size,
            deliveries: receipt.deliveries.iter().map(|row| row.id.to_string()).collect(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct RejectionView {
    pub at: Stamp,
    pub partner: String,
    pub status: u16,
    pub reason: &'static str,
    pub detail: Option<String>,
    /// Those that might be secret are masked.
    pub headers: BTreeMap<String, String>,
    pub size: usize,
}

impl From<Rejection> for RejectionView {
    fn from(rejection: Rejection) -> Self {
        Self {
            at: Stamp(rejection.at),
            partner: rejection.partner,
            status: rejection.status,
            reason: rejection.reason.name(),
            detail: rejection.detail,
            headers: rejection.headers.into_iter().collect(),
            size: rejection.size,
        }
    }
}
