//! A request as it came, without the web framework that took it.

use bytes::Bytes;
use http::HeaderMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Post,
    /// Some senders ask by GET whether anyone is there.
    Get,
}

#[derive(Debug, Clone)]
pub struct Incoming {
    pub verb: Verb,
    /// As it stands in the path, decoded.
    pub partner: String,
    /// As it stands behind the `?`.
    pub query: Option<String>,
    /// All of them, each as often as it came.
    pub headers: HeaderMap,
    /// Byte for byte.
    pub body: Bytes,
    /// Made by the simulator, and marked so in the log.
    pub is_test: bool,
}

impl Incoming {
    pub fn post(partner: impl Into<String>, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self {
            verb: Verb::Post,
            partner: partner.into(),
            query: None,
            headers,
            body: body.into(),
            is_test: false,
        }
    }

    /// As verifying reads them.
    pub(crate) fn lines(&self) -> Vec<(&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
    }

    /// A parameter of the query, decoded; nothing if it is not there or not text.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.query.as_deref()?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }
}
