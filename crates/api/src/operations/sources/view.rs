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

/// A source: a partner that posts webhooks to the gateway.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Source)]
pub struct SourceView {
    /// Id of the source (`src_…`).
    pub id: String,
    /// Name of the partner, which is a part of the URL that it posts to.
    pub partner: String,
    /// Whether webhooks from the partner are accepted.
    pub is_active: bool,
    /// How the partner signs, as it was configured: the name of a preset, e.g. `"stripe"`, or an object with its
    /// settings.
    pub preset: Json,
    /// URLs that receipts are dispatched to.
    pub targets: Vec<String>,
    /// JSON Schema that request bodies must match; null if any body is accepted.
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    /// Rate limit per key for incoming webhooks; null if there is none.
    pub rate_limit: Option<RateLimit>,
    /// JSON pointer to the event id in the body; null if the preset defines it.
    pub event_id_pointer: Option<String>,
    /// Retry schedule of dispatches; null for the default schedule.
    pub retry: Option<Retry>,
    /// Whether a verify token for Meta's subscription handshake is set.
    pub has_verify_token: bool,
    /// When the source was created.
    pub created_at: Timestamp,
    /// When the source was last changed.
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

/// A new source, with the secret that its receipts are signed with.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewSource {
    #[serde(flatten)]
    pub source: SourceView,
    /// Secret that dispatched receipts are signed with. Not shown again.
    pub dispatch_secret: String,
}

/// A source with its counters.
#[derive(Debug, Serialize, ToSchema)]
pub struct SourceCounts {
    #[serde(flatten)]
    pub source: SourceView,
    /// Totals of all nodes since the source was created. The last seconds may be missing.
    pub counts: CountsView,
}

/// Counters of a source since it was created.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SourceTotals)]
pub struct CountsView {
    /// Number of accepted webhooks.
    pub received: u64,
    /// Number of duplicates, which were answered like the original.
    pub repeats: u64,
    /// Number of webhooks that reused an event id with a different body. They are stored as dead letters with the code
    /// `ID_CLASH`.
    pub clashes: u64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> Self {
        Self { received: counts.received, repeats: counts.repeats, clashes: counts.clashes }
    }
}

/// A key of a source, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SourceKey)]
pub struct SourceKeyView {
    /// Id of the key, unique among the keys of the source.
    pub key_id: String,
    /// Signature scheme: `hmac` or `ed25519`.
    pub scheme: &'static str,
    /// Encoding of the secret: `raw`, `base64` or `hex`. `base64` for a public key.
    pub encoding: String,
    /// The partner's public key, in base64; null for `hmac`.
    #[serde(rename = "publicKey")]
    pub public_key: Option<String>,
    /// The key is not valid before this time; null if there is no such limit.
    pub not_before: Option<Timestamp>,
    /// The key is not valid from this time on; null if there is no such limit.
    pub not_after: Option<Timestamp>,
    /// Whether the key is valid now.
    pub is_valid: bool,
    /// When the key was created or last replaced.
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

/// A webhook that was rejected.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rejection)]
pub struct RejectionView {
    /// When the webhook was rejected.
    pub at: Timestamp,
    /// Name of the partner in the URL, as the sender wrote it, cut to 64 characters.
    pub partner: String,
    /// HTTP status of the response.
    pub status: u16,
    /// Why the webhook was rejected, e.g. `signature_mismatch`, `stale_timestamp` or `unknown_key`.
    pub reason: &'static str,
    /// Further details of the reason, in English; null if there are none.
    pub detail: Option<String>,
    /// Request headers by name, with secrets masked.
    pub headers: BTreeMap<String, String>,
    /// Size of the request body in bytes.
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
