//! Why a request was not verified.
//!
//! An error is for the log, the metrics and `gancho verify`. The caller decides what a sender sees, and for
//! everything that is not [`VerifyError::is_malformed`] it should be one response.

use crate::{MAX_HEADER_BYTES, MAX_SIGNATURES};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum VerifyError {
    #[error("the header with the {0} is missing")]
    Missing(HeaderPart),
    #[error("the header with the {0} is repeated")]
    Duplicated(HeaderPart),
    #[error("the header with the {0} is longer than {MAX_HEADER_BYTES} bytes")]
    TooLong(HeaderPart),
    #[error("the timestamp is malformed: {0}")]
    MalformedTimestamp(TimestampError),
    #[error("the timestamp is not within the tolerance")]
    Stale,
    #[error("the message id must have 1 to 128 characters of A-Z, a-z, 0-9, `_` and `-`")]
    MalformedId,
    #[error("the key id must have 1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`")]
    MalformedKeyId,
    #[error("the signature does not have the expected format")]
    MalformedSignature,
    #[error("there are more than {MAX_SIGNATURES} signatures")]
    TooManySignatures,
    #[error("the signature does not match any key")]
    NoMatch,
}

/// The parts of a request that verification reads from headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderPart {
    Signature,
    Timestamp,
    Id,
    KeyId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TimestampError {
    #[error("expected seconds as an integer without sign or leading zeros")]
    SecondsExpected,
    #[error("expected milliseconds as an integer without sign or leading zeros")]
    MillisecondsExpected,
    #[error("expected a time such as 2024-01-23T12:19:05Z, with `Z` or an offset")]
    Rfc3339Expected,
    #[error("expected seconds as an integer, or a time such as 2024-01-23T12:19:05Z")]
    SecondsOrRfc3339Expected,
}

impl VerifyError {
    /// Returns a stable code, one of a few, suitable as a metric's label.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Missing(_) => "missing_header",
            Self::Duplicated(_) => "duplicate_header",
            Self::TooLong(_) => "header_too_long",
            Self::MalformedTimestamp(_) => "malformed_timestamp",
            Self::Stale => "stale_timestamp",
            Self::MalformedId => "malformed_id",
            Self::MalformedKeyId => "malformed_key_id",
            Self::MalformedSignature => "malformed_signature",
            Self::TooManySignatures => "too_many_signatures",
            Self::NoMatch => "signature_mismatch",
        }
    }

    /// Whether the request is malformed (a 400, which any sender may see) rather than unverified (a 403
    /// without details).
    pub const fn is_malformed(self) -> bool {
        match self {
            Self::Duplicated(_)
            | Self::TooLong(_)
            | Self::MalformedTimestamp(_)
            | Self::MalformedId => true,
            Self::Missing(_)
            | Self::Stale
            | Self::MalformedKeyId
            | Self::MalformedSignature
            | Self::TooManySignatures
            | Self::NoMatch => false,
        }
    }
}

impl std::fmt::Display for HeaderPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Signature => "signature",
            Self::Timestamp => "timestamp",
            Self::Id => "message id",
            Self::KeyId => "key id",
        })
    }
}
