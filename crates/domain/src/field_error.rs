//! An error in one field of what a caller sent: what is wrong, where, and what to do about it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// A stable word for programs.
    pub code: &'static str,
    /// A JSON pointer (RFC 6901) into what was given; empty for the whole of it.
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

/// Collects errors, so that one does not hide the next.
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

/// One part of a JSON pointer: a name that may hold `~` and `/`.
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// All of them in one line, for errors that are shown as text.
pub fn joined(faults: &[FieldError]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
