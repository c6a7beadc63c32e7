//! An error in a field of a request: what is wrong, where, and what to do.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// A stable, machine-readable code.
    pub code: &'static str,
    /// A JSON pointer (RFC 6901) into the request; empty for the whole request.
    pub pointer: String,
    pub message: String,
}

impl FieldError {
    pub fn new(code: &'static str, pointer: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { code, pointer: pointer.into(), message: message.to_string() }
    }

    pub fn missing(field: &str, hint: &str) -> Self {
        Self::new("missing_field", format!("/{field}"), format!("`{field}` is missing: {hint}"))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

/// Collects errors, so that all are reported.
#[derive(Debug, Default)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    pub fn add(
        &mut self,
        code: &'static str,
        pointer: impl Into<String>,
        message: impl fmt::Display,
    ) {
        self.0.push(FieldError::new(code, pointer, message));
    }

    pub fn take<T>(&mut self, checked: Result<T, FieldError>) -> Option<T> {
        checked.map_err(|error| self.0.push(error)).ok()
    }
}

/// Escapes one part of a JSON pointer: a name that may contain `~` and `/`.
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Joins all errors into one line, for errors that are shown as text.
pub fn joined(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
