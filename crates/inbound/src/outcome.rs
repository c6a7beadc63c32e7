//! The outcome of a request. The listener translates it to HTTP.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use gancho_domain::{FieldError, ReceiptId};
use gancho_store::StoreError;
use gancho_wire::VerifyError;

#[derive(Debug)]
pub enum Outcome {
    /// Stored and fsynced, now or before: 204.
    Accepted(Acceptance),
    /// An answered handshake: 200, or 204 without a body.
    Reply(Reply),
    Rejected(ReceiveError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acceptance {
    pub receipt: ReceiptId,
    /// The value of `X-Policy-Sign`.
    pub policy_sign: String,
    /// Whether it is a duplicate.
    pub is_repeat: bool,
    /// The receipt that used the event id first, with a different body. This receipt is stored but not
    /// dispatched: its deliveries are dead letters. The sender sees no error, because it can do nothing about
    /// it.
    pub clashes_with: Option<ReceiptId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub content_type: &'static str,
    pub body: Bytes,
}

/// The codes of rejected requests, with their statuses.
pub const CODES: &[(u16, &str)] = &[
    (400, "bad_json"),
    (400, "malformed_request"),
    (403, "deny_invalid_access"),
    (413, "too_large"),
    (415, "unsupported_media_type"),
    (422, "schema_mismatch"),
    (429, "rate_limited"),
    (503, "source_paused"),
    (503, "storage_full"),
    (503, "unavailable"),
];

/// A rejected request. The sender may see only `status`, `code`, `detail`, `errors` and `retry_after`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveError {
    pub status: u16,
    pub code: &'static str,
    pub detail: Cow<'static, str>,
    pub errors: Box<[FieldError]>,
    pub retry_after: Option<Duration>,
    /// The reason for the operator.
    pub reason: Reason,
    /// More details for the operator, if there are any.
    pub note: Option<Box<str>>,
    /// The receipt, if it was stored although it was rejected: its body does not match the schema. Boxed,
    /// since it is rare and the struct is moved by value.
    pub receipt: Option<Box<ReceiptId>>,
}

macro_rules! reasons {
    ($($name:ident $text:literal;)*) => {
        /// The reason, as a label of metrics.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason { $($name,)* }

        impl Reason {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    UnknownPartner "unknown_partner";
    Paused "source_paused";
    UnknownKey "unknown_key";
    KeyExpired "key_expired";
    KeyNotYetValid "key_not_yet_valid";
    NoKey "no_valid_key";
    MissingHeader "missing_header";
    DuplicateHeader "duplicate_header";
    HeaderTooLong "header_too_long";
    MalformedTimestamp "malformed_timestamp";
    StaleTimestamp "stale_timestamp";
    MalformedId "malformed_id";
    MalformedKeyId "malformed_key_id";
    MalformedSignature "malformed_signature";
    TooManySignatures "too_many_signatures";
    SignatureMismatch "signature_mismatch";
    Handshake "greeting_refused";
    Policy "policy_denied";
    Rate "rate_limited";
    BadJson "bad_json";
    Schema "schema_invalid";
    TooLarge "too_large";
    MediaType "unsupported_media_type";
    Store "store_unavailable";
    NotSns "not_a_message_of_sns";
    Topic "topic_not_listed";
    Certificate "certificate_refused";
    CertificateAway "certificate_unavailable";
    Confirmation "confirmation_failed";
}

impl Reason {
    /// Returns the label of `policy_deny_total`: one for everything unverified.
    pub const fn deny_label(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::BadJson | Self::MalformedTimestamp | Self::DuplicateHeader => "malformed",
            Self::Schema => "schema",
            Self::TooLarge | Self::MediaType => "form",
            Self::Store => "store",
            Self::Paused => "paused",
            Self::CertificateAway | Self::Confirmation => "sns",
            _ => "policy_fail",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl From<VerifyError> for Reason {
    fn from(refusal: VerifyError) -> Self {
        match refusal {
            VerifyError::Missing(_) => Self::MissingHeader,
            VerifyError::Duplicated(_) => Self::DuplicateHeader,
            VerifyError::TooLong(_) => Self::HeaderTooLong,
            VerifyError::MalformedTimestamp(_) => Self::MalformedTimestamp,
            VerifyError::Stale => Self::StaleTimestamp,
            VerifyError::MalformedId => Self::MalformedId,
            VerifyError::MalformedKeyId => Self::MalformedKeyId,
            VerifyError::MalformedSignature => Self::MalformedSignature,
            VerifyError::TooManySignatures => Self::TooManySignatures,
            VerifyError::NoMatch => Self::SignatureMismatch,
        }
    }
}

impl ReceiveError {
    pub(crate) fn new(
        status: u16,
        code: &'static str,
        reason: Reason,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        debug_assert!(CODES.contains(&(status, code)), "{status} {code}");
        let detail = detail.into();
        Self {
            status,
            code,
            detail,
            errors: Box::default(),
            retry_after: None,
            reason,
            note: None,
            receipt: None,
        }
    }

    /// Returns the one response to everything that is not verified, so that it reveals nothing.
    pub(crate) fn unproven(reason: Reason) -> Self {
        Self::new(403, "deny_invalid_access", reason, "the request could not be verified")
    }

    pub(crate) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into().into_boxed_str()), ..self }
    }

    /// Returns the response to a failed verification: a malformed request gets the reason, an unverified one
    /// gets none.
    pub(crate) fn refused(refusal: VerifyError) -> Self {
        if refusal.is_malformed() {
            Self::new(400, "malformed_request", refusal.into(), refusal.to_string())
        } else {
            Self::unproven(refusal.into())
        }
    }

    /// The receipt was stored, but is not dispatched.
    pub(crate) fn misfit(errors: Vec<FieldError>, receipt: ReceiptId) -> Self {
        let detail = "the body does not match the schema";
        let denied = Self::new(422, "schema_mismatch", Reason::Schema, detail);
        Self { errors: errors.into(), receipt: Some(Box::new(receipt)), ..denied }
    }

    /// Returns the response while the source is paused. Only the verified partner gets it, and loses nothing,
    /// because it sends the request again.
    pub(crate) fn paused() -> Self {
        let detail = "the source is paused: send the webhook again later";
        let denied = Self::new(503, "source_paused", Reason::Paused, detail);
        Self { retry_after: Some(Duration::from_mins(1)), ..denied }
    }

    /// Returns the response if the request could not be verified for an internal reason.
    pub(crate) fn unusable() -> Self {
        let detail = "the webhook could not be verified at the moment: send it again";
        let denied = Self::new(503, "unavailable", Reason::Store, detail);
        Self { retry_after: Some(Duration::from_secs(5)), ..denied }
    }

    /// Returns the response to a verified partner that has too much in progress.
    pub(crate) fn too_many_at_a_time() -> Self {
        let detail = "too many webhooks of this partner are being processed: send it again";
        let denied = Self::new(503, "unavailable", Reason::Rate, detail).noted(detail);
        Self { retry_after: Some(Duration::from_secs(1)), ..denied }
    }

    pub(crate) fn store(error: &StoreError) -> Self {
        let (code, detail) = match error {
            StoreError::Full(_) => {
                ("storage_full", "the gateway's storage is full: send the webhook again later")
            }
            _ => ("unavailable", "the webhook could not be stored: send it again"),
        };
        let retry_after = Some(Duration::from_secs(5));
        Self { retry_after, ..Self::new(503, code, Reason::Store, detail) }
    }
}
