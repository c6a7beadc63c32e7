//! The first step: size and content type. Nothing here depends on the sender.

use http::{HeaderMap, header};

use crate::{
    Limits, ReceivedRequest,
    outcome::{Reason, ReceiveError},
};

/// Checks what applies to every body.
pub fn check_size(request: &ReceivedRequest, limits: &Limits) -> Result<(), ReceiveError> {
    if request.body.len() <= limits.body_bytes { Ok(()) } else { Err(too_large(limits)) }
}

pub fn too_large(limits: &Limits) -> ReceiveError {
    let detail = format!("the body is too large: the maximum is {} bytes", limits.body_bytes);
    ReceiveError::new(413, "too_large", Reason::TooLarge, detail)
}

/// The declared content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    Json,
    /// Plain text, which SNS declares for its JSON messages.
    PlainText,
}

/// Accepts JSON in UTF-8 without compression. Plain text passes here for every partner: if only SNS could
/// send it, anyone could find out which partners are SNS.
pub fn check_type(headers: &HeaderMap) -> Result<ContentType, ReceiveError> {
    let refused = |detail| Err(unsupported_media_type(detail));
    let mut packings = headers.get_all(header::CONTENT_ENCODING).iter();
    if !packings.all(|packing| packing.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refused("compressed bodies are not supported: send it without `content-encoding`");
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        (Some(one), None) if is(one.as_bytes(), "application/json") => Ok(ContentType::Json),
        (Some(one), None) if is(one.as_bytes(), "text/plain") => Ok(ContentType::PlainText),
        _ => refused(SEND_JSON),
    }
}

const SEND_JSON: &str = "send it as `content-type: application/json`";

/// Accepts JSON only, for verified senders other than SNS.
pub fn require_json(media: ContentType) -> Result<(), ReceiveError> {
    if media == ContentType::Json { Ok(()) } else { Err(unsupported_media_type(SEND_JSON)) }
}

fn unsupported_media_type(detail: &'static str) -> ReceiveError {
    ReceiveError::new(415, "unsupported_media_type", Reason::MediaType, detail)
}

/// Whether the media type is `wanted`, with at most a charset, which must be UTF-8.
fn is(value: &[u8], wanted: &str) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let mut parts = text.split(';').map(str::trim);
    let is_type = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
    let is_utf8 = |part: &str| {
        part.split_once('=').is_some_and(|(name, value)| {
            name.eq_ignore_ascii_case("charset")
                && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
    };
    match (parts.next(), parts.next()) {
        (None, _) => is_type,
        (Some(charset), None) => is_type && is_utf8(charset),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn is_json(value: &[u8]) -> bool {
        is(value, "application/json")
    }

    /// Other media types, charsets and content codings are refused.
    #[test]
    fn only_plain_json() {
        for fine in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
        ] {
            assert!(is_json(fine.as_bytes()), "{fine}");
        }
        for invalid in [
            "",
            "text/json",
            "application/jsonp",
            "application/json; charset=utf-16",
            "application/json; charset=utf-8; charset=utf-16",
            "application/json, text/plain",
            "multipart/form-data; boundary=application/json",
            "application/json;",
            "application/xml",
            "application/json; q=1",
            "application/x-www-form-urlencoded",
        ] {
            assert!(!is_json(invalid.as_bytes()), "{invalid}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(check_type(&headers).unwrap_err().status, 415);
        headers.append(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert_eq!(check_type(&headers).unwrap(), ContentType::Json);
        let mut plain = HeaderMap::new();
        let text = HeaderValue::from_static("text/plain; charset=UTF-8");
        plain.append(header::CONTENT_TYPE, text);
        assert_eq!(check_type(&plain).unwrap(), ContentType::PlainText);
        assert_eq!(require_json(ContentType::PlainText).unwrap_err().status, 415);
        for packing in ["gzip", "br", "deflate", "zstd", "identity, gzip"] {
            let mut packed = headers.clone();
            packed.append(header::CONTENT_ENCODING, packing.parse().unwrap());
            assert_eq!(check_type(&packed).unwrap_err().status, 415, "{packing}");
        }
        headers.append(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert_eq!(check_type(&headers).unwrap_err().status, 415, "twice");
    }
}
