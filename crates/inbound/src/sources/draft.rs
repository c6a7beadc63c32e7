//! The input for a source or a key, before validation.

use std::fmt;

use gancho_domain::{RateDraft, RetryDraft, Time};
use serde_json::value::RawValue;

/// Fields that are missing in the request are `None`. Fields that `null` can unset have two layers: present
/// at all, and present with a value.
#[derive(Clone, Default)]
pub struct SourceDraft {
    pub partner: Option<String>,
    pub is_active: Option<bool>,
    /// A name such as `"stripe"`, or `{"generic": {…}}`.
    pub preset: Option<Box<RawValue>>,
    /// The only target; the same as a list of one.
    pub target_url: Option<String>,
    pub targets: Option<Vec<String>>,
    pub schema: Option<Option<Box<RawValue>>>,
    pub rate_limit: Option<Option<RateDraft>>,
    pub event_id_pointer: Option<Option<String>>,
    pub retry: Option<Option<RetryDraft>>,
    pub dispatch_secret: Option<String>,
    pub verify_token: Option<Option<String>>,
}

#[derive(Clone, Default)]
pub struct KeyDraft {
    /// `hmac` or `ed25519`.
    pub scheme: Option<String>,
    /// `sha256`, the only supported value.
    pub algo: Option<String>,
    pub secret: Option<String>,
    /// `raw`, `base64` or `hex`.
    pub encoding: Option<String>,
    pub public_key: Option<String>,
    pub not_before: Option<Time>,
    pub not_after: Option<Time>,
    /// The id of the key that this one replaces: the old key expires after `overlap`.
    pub replaces: Option<String>,
    /// How long the replaced key stays valid. Default: `24h`.
    pub overlap: Option<String>,
}

/// Omits secrets.
impl fmt::Debug for SourceDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceDraft")
            .field("partner", &self.partner)
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}

/// Omits the secret.
impl fmt::Debug for KeyDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyDraft")
            .field("scheme", &self.scheme)
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}
