//! Renders sources, keys and rejections, without secrets.

use std::collections::BTreeMap;

use gancho_domain::Time;
use gancho_inbound::{Rejection, Source, SourceKey, counters::Counts};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations::webhooks::view::{RateLimit, Retry},
    render::{Json, Timestamp},
};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Source)]
pub struct SourceView {
    pub id: String,
    pub partner: String,
    pub is_active: bool,
    pub preset: Json,
    pub targets: Vec<String>,
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    pub rate_limit: Option<RateLimit>,
    /// Null if the preset defines it.
    pub event_id_pointer: Option<String>,
    /// Null for the default schedule.
    pub retry: Option<Retry>,
    pub has_verify_token: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
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
            created_at: Timestamp(source.created_at()),
            updated_at: Timestamp(source.updated_at()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NewSource {
    #[serde(flatten)]
    pub source: SourceView,
    /// Secret that dispatched receipts are signed with. Not shown again.
    pub dispatch_secret: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceCounts {
    #[serde(flatten)]
    pub source: SourceView,
    /// Totals of all nodes since the source was created. The last seconds may be missing.
    pub counts: CountsView,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SourceTotals)]
pub struct CountsView {
    /// Number of accepted webhooks.
    pub received: u64,
    /// Number of duplicates, which were answered like the original.
    pub repeats: u64,
    /// Number of webhooks that reused an event id with a different body. They are stored as dead letters with code `ID_CLASH`.
    pub clashes: u64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        Self { received: counts.received, repeats: counts.repeats, clashes: counts.clashes }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SourceKey)]
pub struct SourceKeyView {
    pub key_id: String,
    pub scheme: &'static str,
    pub encoding: String,
    #[serde(rename = "publicKey")]
    pub public_key: Option<String>,
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
    /// Whether the key is valid now.
    pub is_valid: bool,
    pub created_at: Timestamp,
}

impl SourceKeyView {
    pub fn of(key: &SourceKey, now: Time) -> Self {
        Self {
            key_id: key.key_id.clone(),
            scheme: key.scheme.name(),
            encoding: key.encoding.clone(),
            public_key: key.public_key.clone(),
            not_before: key.not_before().map(Timestamp),
            not_after: key.not_after().map(Timestamp),
            is_valid: key.is_valid_at(now),
            created_at: Timestamp(key.created_at()),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejection)]
pub struct RejectionView {
    pub at: Timestamp,
    pub partner: String,
    pub status: u16,
    pub reason: &'static str,
    pub detail: Option<String>,
    /// The request headers, with secrets masked.
    pub headers: BTreeMap<String, String>,
    pub size: usize,
}

impl From<Rejection> for RejectionView {
    fn from(rejection: Rejection) -> Self {
        Self {
            at: Timestamp(rejection.at),
            partner: rejection.partner,
            status: rejection.status,
            reason: rejection.reason.name(),
            detail: rejection.detail,
            headers: rejection.headers.into_iter().collect(),
            size: rejection.size,
        }
    }
}
