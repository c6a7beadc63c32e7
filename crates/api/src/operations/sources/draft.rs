//! The bodies of a source and of a key.

use gancho_domain::Time;
use gancho_inbound::{KeyDraft, SourceDraft};
use serde_json::value::RawValue;

use crate::{
    input::request,
    operations::webhooks::draft::{RateLimitBody, RetryBody},
    problem::Problem,
};

request! {
    /// The settings of a source.
    pub struct SourceBody {
        /// Whether webhooks from the partner are accepted. Default: `true`.
        optional is_active: bool as flag(),
        /// How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`, `"shopify"`,
        /// `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the accepted topics),
        /// `{"generic": {…}}` or `{"token": {"header": …}}`.
        optional preset: Box<RawValue> as json(),
        /// URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`.
        /// `gancho:email-feedback` processes bounces and complaints reported by SES.
        optional target_url: String as text(1, 2_048),
        /// Several target URLs, instead of `target_url`.
        optional targets: Vec<String> as texts(10, 2_048),
        /// JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and not
        /// dispatched.
        clearable schema: Box<RawValue> as json_object(64 * 1024),
        /// Rate limit per key for incoming webhooks. Default: none.
        clearable rate_limit: RateLimitBody as object::<RateLimitBody>(),
        /// JSON pointer to the event id in the body, used for deduplication. Default: defined by the preset.
        clearable event_id_pointer: String as text(1, 256),
        /// Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s.
        clearable retry: RetryBody as object::<RetryBody>(),
        /// Secret that dispatched receipts are signed with. Default: a generated one.
        optional dispatch_secret: String as secret(256),
        /// Verify token of Meta's subscription handshake (`hub.verify_token`).
        clearable verify_token: String as secret(256),
    }
}

request! {
    /// A new source.
    pub struct NewSourceBody {
        /// Name of the partner, used in the URL: lower-case letters, digits and `-`. Cannot be changed.
        required partner: String as text(1, 63),
        flatten settings: SourceBody,
    }
}

impl SourceBody {
    /// `partner` is the name of a new source.
    pub fn draft(self, partner: Option<String>) -> Result<SourceDraft, Problem> {
        Ok(SourceDraft {
            partner,
            is_active: self.is_active,
            preset: self.preset,
            target_url: self.target_url,
            targets: self.targets,
            schema: self.schema,
            rate_limit: self.rate_limit.map(|rate| rate.map(RateLimitBody::draft)),
            event_id_pointer: self.event_id_pointer,
            retry: self.retry.map(|retry| retry.map(RetryBody::draft).transpose()).transpose()?,
            dispatch_secret: self.dispatch_secret,
            verify_token: self.verify_token,
        })
    }
}

request! {
    /// A key of a source.
    pub struct SourceKeyBody {
        /// Signature scheme of the key.
        required scheme: String as choice(&["hmac", "ed25519"]),
        /// Hash algorithm of `hmac`. Only `sha256` is supported.
        optional algo: String as choice(&["sha256"]),
        /// Shared secret. Required for `hmac`.
        optional secret: String as secret(256),
        /// Encoding of `secret`. Default: `raw`.
        optional encoding: String as choice(&["raw", "base64", "hex"]),
        /// The partner's public key, in base64. Required for `ed25519`.
        optional public_key = "publicKey": String as text(1, 256),
        /// The key is not valid before this time.
        nullable not_before: Time as time(),
        /// The key is not valid after this time.
        nullable not_after: Time as time(),
        /// Id of the key that this one replaces. The old key expires after `overlap`.
        optional replaces: String as text(1, 128),
        /// How long a replaced key stays valid. Default: `24h`.
        optional overlap: String as text(1, 40),
    }
}

impl From<SourceKeyBody> for KeyDraft {
    fn from(body: SourceKeyBody) -> Self {
        Self {
            scheme: Some(body.scheme),
            algo: body.algo,
            secret: body.secret,
            encoding: body.encoding,
            public_key: body.public_key,
            not_before: body.not_before,
            not_after: body.not_after,
            replaces: body.replaces,
            overlap: body.overlap,
        }
    }
}
