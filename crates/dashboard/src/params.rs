//! The parameters of a URL or a form, and URLs with parameters.

use std::fmt;

pub use gancho_domain::path_segment as segment;
use url::form_urlencoded;

/// Names and values, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Returns the first value that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        values.find(|(_, value)| !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Returns all values that are not empty.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        values.map(|(_, value)| value.as_str())
    }

    /// Returns the value as it was sent, trimmed; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).map_or("", str::trim)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Returns the other parameters, encoded as in a URL.
    pub fn without(&self, names: &[&str]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.0.iter().filter(|(name, _)| !names.contains(&name.as_str())));
        query.finish()
    }
}

/// A path with parameters. Displays as a URL; templates escape it.
#[derive(Debug, Clone)]
pub struct Link {
    path: String,
    params: Vec<(String, String)>,
}

impl Link {
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), params: Vec::new() }
    }

    /// Returns the URL of a request.
    pub fn again(path: impl Into<String>, params: &Params) -> Self {
        Self { path: path.into(), params: params.0.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.path.is_empty()
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sets a parameter. An empty value removes it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.params.retain(|(known, _)| known != name);
        let value = value.to_string();
        if !value.is_empty() {
            self.params.push((name.to_owned(), value));
        }
        self
    }

    /// Sets a parameter if there is a value.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<&str>) -> Self {
        self.with(name, value.unwrap_or_default())
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.params.is_empty() {
            return Ok(());
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.params);
        write!(f, "?{}", query.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_their_parameters_once() {
        let link = Link::new("/ui/deliveries").with("tenant", "a b").with("status", "failed");
        assert_eq!(link.to_string(), "/ui/deliveries?tenant=a+b&status=failed");
        let link = link.with("status", "").maybe("tenant", Some("m2"));
        assert_eq!(link.to_string(), "/ui/deliveries?tenant=m2");
    }
}
