//! Strict parsing of requests. A request type is declared once, with [`request!`](mod@request): the declaration is the
//! struct, the list of [`Field`]s that parses and documents it, and the conversion of one into the other.
//!
//! [`spec`] says what a field accepts and which Rust types can hold it. [`content`] checks a body before it is parsed,
//! [`strict_json`](gancho_wire::strict_json) finds the members of a JSON object without decoding them, [`body`] parses
//! them by their fields, and [`query`] does the same for query parameters. [`value`] is what was parsed.

pub mod body;
pub mod content;
pub mod field;
pub mod query;
pub mod request;
pub mod spec;
pub mod time_range;
pub mod value;

use gancho_domain::{FieldError, nearest};

pub use field::{Field, FieldKind};
pub use request::Request;
pub(crate) use request::request;
pub use value::{Value, Values};

pub const UNKNOWN_FIELD: &str = "unknown_field";
pub const MISSING_FIELD: &str = "missing_field";
pub const INVALID_FIELD: &str = "invalid_field";

/// Names in other gateways' APIs that do not resemble ours, with our names.
const FOREIGN_NAMES: &[(&str, &str)] = &[
    ("eventType", "type"),
    ("event_type", "type"),
    ("topic", "type"),
    ("payload", "data"),
    ("eventId", "external_id"),
    ("event_id", "external_id"),
    ("filterTypes", "events"),
    ("filter_types", "events"),
    ("topics", "events"),
    ("uid", "external_id"),
];

/// Maximum number of errors in a response.
const MAX_ERRORS: usize = 50;

/// The errors of one request, collected so that the caller sees all of them at once.
#[derive(Debug, Default)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    pub fn add(
        &mut self,
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) {
        if self.0.len() < MAX_ERRORS {
            self.0.push(FieldError { code, pointer: pointer.into(), message: message.into() });
        }
    }

    pub fn extend(&mut self, others: Self) {
        let room = MAX_ERRORS.saturating_sub(self.0.len());
        self.0.extend(others.0.into_iter().take(room));
    }

    pub fn invalid(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.add(INVALID_FIELD, pointer, message);
    }

    fn unknown(&mut self, pointer: String, what: &str, name: &str, fields: &[Field]) {
        let known = || fields.iter().map(|field| field.name);
        let elsewhere = FOREIGN_NAMES.iter().filter(|(foreign, _)| *foreign == name);
        let meant =
            elsewhere.map(|(_, meant)| *meant).find(|meant| known().any(|own| own == *meant));
        let hint = match meant.or_else(|| nearest(name, known())) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if fields.is_empty() => "this endpoint takes no parameters".to_owned(),
            None => {
                let names: Vec<_> = fields.iter().map(|field| field.name).collect();
                format!("known names: {}", names.join(", "))
            }
        };
        self.add(UNKNOWN_FIELD, pointer, format!("unknown {what} `{}`; {hint}", excerpt(name)));
    }
}

/// Shortens a caller's text for a message, and removes control characters.
pub fn excerpt(text: &str) -> String {
    let mut excerpt: String =
        text.chars().take(64).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(64).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// Escapes a name as a segment of a JSON pointer.
pub fn pointer_segment(name: &str) -> String {
    excerpt(name).replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_pointers_and_messages() {
        assert_eq!(pointer_segment("a/b~c"), "a~1b~0c");
        assert_eq!(excerpt("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(excerpt(&"x".repeat(100)).chars().count(), 65);
    }
}
