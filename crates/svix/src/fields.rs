//! Reads the body of a request, field by field, and reports all errors at once. Refuses fields that are not
//! read, because they request something that would not happen.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::svix_error::{InvalidField, SvixError};

/// A field that may be missing, null, or a value.
#[allow(clippy::option_option, reason = "left out, null or a value")]
pub type MaybeField<T> = Option<Option<T>>;

pub struct Fields {
    at: Vec<String>,
    unread: BTreeMap<String, Box<RawValue>>,
    errors: Vec<InvalidField>,
}

impl Fields {
    /// Reads a whole body. An empty one has no fields.
    pub fn read(body: &[u8]) -> Result<Self, SvixError> {
        let at = vec!["body".to_owned()];
        if body.is_empty() {
            return Ok(Self { at, unread: BTreeMap::new(), errors: Vec::new() });
        }
        match serde_json::from_slice(body) {
            Ok(unread) => Ok(Self { at, unread, errors: Vec::new() }),
            Err(error) => {
                let invalid = InvalidField::kind(
                    &["body"],
                    format!("the body is not a JSON object: {error}"),
                );
                Err(SvixError::invalid_fields(vec![invalid]))
            }
        }
    }

    /// Reads an object in a field, such as `application` in a message.
    pub fn below(&mut self, name: &str) -> Option<Self> {
        let unread = self.take(name)?;
        let mut at = self.at.clone();
        at.push(name.to_owned());
        Some(Self { at, unread, errors: Vec::new() })
    }

    /// Reads a field that may be missing or null.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.take_given(name).flatten()
    }

    /// Reads a field; `Some(None)` for null.
    pub fn take_given<T: DeserializeOwned>(&mut self, name: &str) -> MaybeField<T> {
        let raw = self.unread.remove(name)?;
        if raw.get() == "null" {
            return Some(None);
        }
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(Some(value)),
            Err(error) => {
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                self.error(name, "type_error", text);
                None
            }
        }
    }

    pub fn require<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let was_given = self.unread.contains_key(name);
        let value = self.take(name);
        if value.is_none() && !was_given {
            self.error(name, "value_error.missing", "field required");
        } else if value.is_none() && self.errors.is_empty() {
            self.error(name, "type_error", "must not be null");
        }
        value
    }

    /// Refuses a field that the gateway does not support, unless its value requests nothing.
    pub fn refuse(&mut self, name: &str, why: &str) {
        let Some(raw) = self.unread.remove(name) else { return };
        let is_nothing = matches!(raw.get(), "null" | "false" | "[]" | "{}" | "\"\"");
        if !is_nothing {
            self.error(name, "value_error.unsupported", why);
        }
    }

    /// Ignores a field of Svix that has no meaning here.
    pub fn ignore(&mut self, name: &str) {
        self.unread.remove(name);
    }

    pub fn invalid(&mut self, name: &str, msg: impl Into<String>) {
        self.error(name, "value_error", msg);
    }

    fn error(&mut self, name: &str, kind: &'static str, msg: impl Into<String>) {
        let mut loc = self.at.clone();
        loc.push(name.to_owned());
        self.errors.push(InvalidField { loc, msg: msg.into(), r#type: kind });
    }

    /// Refuses fields that were not read, and fields with errors.
    pub fn finish(self) -> Result<(), SvixError> {
        let errors = self.into_errors();
        if errors.is_empty() { Ok(()) } else { Err(SvixError::invalid_fields(errors)) }
    }

    /// Adds the errors of an inner object.
    pub fn finish_inner(&mut self, inner: Self) {
        self.errors.extend(inner.into_errors());
    }

    fn into_errors(mut self) -> Vec<InvalidField> {
        let unread: Vec<_> = std::mem::take(&mut self.unread).into_keys().take(20).collect();
        for name in unread {
            let short: String = name.chars().take(100).collect();
            self.error(&short, "value_error.extra", "unknown field; remove it");
        }
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(fields: Fields) -> String {
        let body = fields.finish().unwrap_err().into_response().into_body();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[test]
    fn all_errors_at_once() {
        let body = br#"{"name": 1, "tags": ["a"], "channels": [], "surprise": 2, "uid": null}"#;
        let mut fields = Fields::read(body).unwrap();
        assert_eq!(fields.require::<String>("name"), None);
        assert_eq!(fields.take_given::<String>("uid"), Some(None));
        assert_eq!(fields.require::<String>("url"), None);
        fields.refuse("tags", "no tags here");
        fields.refuse("channels", "no channels here");
        let text = errors(fields);
        for part in [r#"["body","name"]"#, r#"["body","tags"]"#, r#"["body","url"]"#, "surprise"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("no channels here"), "{text}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in ["[]", "1", "{", "null", "\"a\"", "{}x"] {
            assert!(Fields::read(body.as_bytes()).is_err(), "{body}");
        }
        assert!(Fields::read(b"").is_ok());
        assert!(Fields::read("[".repeat(100_000).as_bytes()).is_err());
    }
}
