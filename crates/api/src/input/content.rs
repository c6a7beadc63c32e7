//! Checks before a body is parsed: media type, encoding, size and time limit.

use std::{fmt::Display, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::{codes, problem::Problem};

/// Checks `Content-Encoding` and `Content-Type`.
pub fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    if let Some(coding) = headers.get(header::CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return Err(Problem::new(
            &codes::UNSUPPORTED_MEDIA_TYPE,
            "compressed bodies are not supported; send the body without `Content-Encoding`",
        ));
    }
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) if is_json(value) => Ok(()),
        _ => Err(Problem::new(
            &codes::UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON in UTF-8; send `Content-Type: application/json`",
        )),
    }
}

/// Whether it is `application/json`, with no charset but UTF-8.
fn is_json(value: &HeaderValue) -> bool {
    if value.as_bytes() == b"application/json" {
        return true;
    }
    let Ok(text) = value.to_str() else { return false };
    let mut parts = text.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return false;
    }
    parts.all(|part| {
        let charset = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        matches!(charset, Some((name, value)) if name.eq_ignore_ascii_case("charset")
            && value.trim_matches('"').eq_ignore_ascii_case("utf-8"))
    })
}

/// Refuses a body that is announced as too large, without reading it.
pub fn check_length(headers: &HeaderMap, max: usize) -> Result<(), Problem> {
    if announced_length(headers).is_some_and(|length| length > max as u64) {
        return Err(too_large(max));
    }
    Ok(())
}

pub fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the next bytes; `None` at the end.
pub async fn next<B>(body: &mut B) -> Result<Option<Bytes>, Problem>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    while let Some(frame) = body.frame().await {
        match frame.map_err(|error| incomplete(&error))?.into_data() {
            Ok(data) if !data.is_empty() => return Ok(Some(data)),
            _ => {}
        }
    }
    Ok(None)
}

/// Returns the whole body, of which the first bytes were read.
pub async fn collect<B>(mut whole: BytesMut, body: &mut B, max: usize) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    while let Some(data) = next(body).await? {
        if whole.len() + data.len() > max {
            return Err(too_large(max));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

pub fn incomplete(error: &dyn Display) -> Problem {
    tracing::debug!(%error, "could not read the request body");
    Problem::new(&codes::BAD_REQUEST, "the request body is incomplete or not correctly framed")
}

pub fn timed_out(within: Duration) -> Problem {
    Problem::new(
        &codes::SLOW_BODY,
        format!("the request body did not arrive within {} s", within.as_secs()),
    )
}

pub fn too_large(max: usize) -> Problem {
    Problem::new(
        &codes::TOO_LARGE,
        format!(
            "the request body is larger than {max} bytes; send less at once, or a reference to the data"
        ),
    )
}
