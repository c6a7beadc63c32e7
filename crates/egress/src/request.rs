//! The request as it goes onto a connection.

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

use crate::handshake::Body;

/// How the target is named, which depends on what the connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetForm {
    /// `/path`, with a `Host` header.
    Origin,
    /// `http://host/path`, for a proxy, with a `Host` header.
    Absolute,
    /// `:scheme`, `:authority` and `:path`.
    Http2,
}

/// Framing and the connection are ours alone: these are dropped even if an endpoint's own headers
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

/// Done once per attempt, however often the request is shaped.
pub(crate) fn clean(headers: &mut HeaderMap) {
    for name in OURS {
        headers.remove(name);
    }
    // What comes back is kept as it came and never unpacked.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// What is asked of a URL, apart from its headers. Cheap to copy.
#[derive(Debug, Clone)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) body: Bytes,
}

pub(crate) fn shape(
    ask: RequestParts<'_>,
    form: TargetForm,
    mut headers: HeaderMap,
) -> Result<Request<Body>, http::Error> {
    let RequestParts { method, url, body } = ask;
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

/// The headers as `name: value` lines, for the attempt's record.
pub fn header_record(headers: &HeaderMap) -> Bytes {
    let mut lines = Vec::with_capacity(320);
    for (name, value) in headers {
        lines.extend_from_slice(name.as_str().as_bytes());
        lines.extend_from_slice(b": ");
        // Those that tenants gave were marked as sensitive when they were read, and no others are.
        let shown = if value.is_sensitive() { MASK.as_bytes() } else { value.as_bytes() };
        lines.extend_from_slice(shown);
        lines.push(b'\n');
    }
    lines.into()
}
