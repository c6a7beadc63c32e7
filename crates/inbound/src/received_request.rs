//! A request, independent of the web framework.

use bytes::Bytes;
use http::HeaderMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestMethod {
    Post,
    /// Some senders use GET for their handshake.
    Get,
}

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub verb: RequestMethod,
    /// The name in the path, decoded.
    pub partner: String,
    /// The part after the `?`.
    pub query: Option<String>,
    /// All headers, including repeated ones.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// Created by the simulator, and marked as a test.
    pub is_test: bool,
}

impl ReceivedRequest {
    pub fn post(partner: impl Into<String>, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self {
            verb: RequestMethod::Post,
            partner: partner.into(),
            query: None,
            headers,
            body: body.into(),
            is_test: false,
        }
    }

    /// Returns the headers in the form that verification reads.
    pub(crate) fn lines(&self) -> Vec<(&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
    }

    /// Returns a decoded query parameter; `None` if it is missing or not text.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.query.as_deref()?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }
}
