//! Builds the request for a connection.

use bytes::Bytes;
use gancho_domain::mask::MASK;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{
        ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHORIZATION, TE,
        TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
    uri::PathAndQuery,
};
use http_body_util::Full;
use url::{Position, Url};

use crate::{connections::ConnectionOwner, handshake::Body};

/// The form of the request target, which depends on the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// `/path`, with a `Host` header.
    Origin,
    /// `http://host/path`, for a proxy, with a `Host` header.
    Absolute,
    /// `:scheme`, `:authority` and `:path`.
    Http2,
}

/// Framing and connection headers, which only the client sets. They are removed even if an endpoint's headers
/// were saved before the rules forbade them.
const OURS: [HeaderName; 8] = [
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    TE,
    TRAILER,
    UPGRADE,
    EXPECT,
    PROXY_AUTHORIZATION,
];

/// Cleans the headers. Runs once per attempt, however often the request is built.
pub(crate) fn clean(headers: &mut HeaderMap) {
    for name in OURS {
        headers.remove(name);
    }
    // The response is stored as received and never decompressed.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Method, URL and body, and who it is for. Cheap to copy.
#[derive(Debug, Clone)]
pub(crate) struct RequestParts<'a> {
    pub(crate) owner: ConnectionOwner,
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) body: Bytes,
}

pub(crate) fn shape(
    ask: RequestParts<'_>,
    form: TargetForm,
    mut headers: HeaderMap,
) -> Result<Request<Body>, http::Error> {
    let RequestParts { method, url, body, .. } = ask;
    let uri = match form {
        TargetForm::Origin => {
            let path = PathAndQuery::try_from(&url[Position::BeforePath..Position::AfterQuery])?;
            Uri::from(path)
        }
        TargetForm::Absolute | TargetForm::Http2 => Uri::try_from(&url[..Position::AfterQuery])?,
    };
    if form == TargetForm::Http2 {
        headers.remove(HOST);
    } else {
        let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])?;
        headers.insert(HOST, host);
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Text as the value of a header.
pub fn header_value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|error| error.to_string())
}

/// Adds the headers of a signature. They override others of the same name.
pub fn add_signed(headers: &mut HeaderMap, signed: Vec<(&str, String)>) -> Result<(), String> {
    for (name, text) in signed {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        headers.insert(name, header_value(&text)?);
    }
    Ok(())
}

/// Returns the headers as `name: value` lines, for the attempt log.
pub fn header_record(headers: &HeaderMap) -> Bytes {
    let mut lines = Vec::with_capacity(320);
    for (name, value) in headers {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        // Only the tenant's headers are marked as sensitive.
        let shown = if value.is_sensitive() { MASK.as_bytes() } else { value.as_bytes() };
        lines.extend_from_slice(shown);
        lines.push(b'\n');
    }
    lines.into()
}
