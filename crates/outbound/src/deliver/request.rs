//! The request as it goes onto a connection.

use bytes::Bytes;
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

use super::handshake::Body;

/// How the target is named, which depends on what the connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
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
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) body: Bytes,
}

pub(crate) fn shape(
    ask: Ask<'_>,
    form: Form,
    mut headers: HeaderMap,
) -> Result<Request<Body>, http::Error> {
    let Ask { method, url, body } = ask;
    let uri = match form {
        Form::Origin => {
            let path = PathAndQuery::try_from(&url[Position::BeforePath..Position::AfterQuery])?;
            Uri::from(path)
        }
        Form::Absolute | Form::Http2 => Uri::try_from(&url[..Position::AfterQuery])?,
    };
    if form == Form::Http2 {
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
