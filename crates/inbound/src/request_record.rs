//! The stored form of a receipt's request, for the operator. Bounded, and without secrets.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use bytes::Bytes;
use gancho_domain::mask::MASK;
use gancho_store::StoreError;
use http::HeaderName;
use serde::{Deserialize, Serialize};

use crate::{
    ReceivedRequest, RequestMethod,
    registry::{PreparedSource, ProofKeys},
    rejections::cut,
};

const MAX_HEADERS: usize = 64;
const MAX_VALUE: usize = 512;
/// Maximum length of all names and values; the rest is omitted.
const MAX_BYTES: usize = 8 * 1024;

/// A header whose name contains one of these may carry a credential: its value is not stored.
const SECRET_WORDS: [&str; 10] = [
    "auth",
    "token",
    "secret",
    "password",
    "cookie",
    "session",
    "api-key",
    "apikey",
    "credential",
    "jwt",
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub method: String,
    pub path: String,
    /// The headers in their original order, with secrets masked.
    pub headers: Vec<(String, String)>,
}

impl RequestRecord {
    pub(crate) fn of(source: &PreparedSource, request: &ReceivedRequest) -> Self {
        let token = match &source.proving {
            ProofKeys::HeaderToken { header, .. } => Some(header.as_str()),
            _ => None,
        };
        let method = match request.verb {
            RequestMethod::Post => "POST",
            RequestMethod::Get => "GET",
        };
        let mut room = MAX_BYTES;
        let mut headers = Vec::with_capacity(request.headers.len().min(MAX_HEADERS));
        for (name, value) in request.headers.iter().take(MAX_HEADERS) {
            let value = if is_secret(name, token) {
                MASK.to_owned()
            } else {
                cut(&String::from_utf8_lossy(value.as_bytes()), MAX_VALUE)
            };
            let size = name.as_str().len() + value.len();
            if size > room {
                break;
            }
            room -= size;
            headers.push((name.as_str().to_owned(), value));
        }
        let path = format!("/webhooks/{}", source.source.partner);
        Self { method: method.to_owned(), path, headers }
    }

    pub(crate) fn write(&self) -> Result<Bytes, StoreError> {
        let corrupt = |error: serde_json::Error| StoreError::Corrupt(error.to_string());
        serde_json::to_vec(self).map(Bytes::from).map_err(corrupt)
    }

    /// Reads the stored form; `None` for receipts from before requests were recorded.
    pub(crate) fn read(kept: Option<&Bytes>) -> Option<Self> {
        kept.and_then(|bytes| serde_json::from_slice(bytes).ok())
    }
}

/// Whether a header may carry a secret. `token` is the header with the source's token.
fn is_secret(name: &HeaderName, token: Option<&str>) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(SECRET_WORDS).ok());
    let name = name.as_str();
    token.is_some_and(|token| token.eq_ignore_ascii_case(name))
        || WORDS.as_ref().is_none_or(|words| words.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_credential_is_recognized_by_its_name() {
        let secret = |name: &str| is_secret(&name.parse().unwrap(), Some("X-Shared"));
        for name in [
            "authorization",
            "proxy-authorization",
            "cookie",
            "set-cookie",
            "x-api-key",
            "x-gitlab-token",
            "x-amz-security-token",
            "cf-access-jwt-assertion",
            "x-shared",
        ] {
            assert!(secret(name), "{name}");
        }
        for name in ["x-signature", "stripe-signature", "x-key-id", "user-agent", "content-type"] {
            assert!(!secret(name), "{name}");
        }
    }
}
