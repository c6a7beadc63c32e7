//! How sources, keys and rejections are shown. No secret is in any of them.

use std::collections::BTreeMap;

use gancho_domain::Time;
use gancho_inbound::{Rejection, Source, SourceKey, counters::Counts};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations::webhooks::view::{RateLimit, Retry},
    show::{Json, Stamp},
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
    /// On all nodes, since the source was made. Those of the last seconds may be missing.
    pub counts: CountsView,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct CountsView {
    /// Receipts.
    pub received: u64,
    /// Posted again, and answered as before.
    pub repeats: u64,
    /// Event ids that came again with another body: kept as dead letters with code `ID_CLASH`.
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
