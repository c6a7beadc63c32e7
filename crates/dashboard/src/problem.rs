//! Errors of the API on pages: a whole page, or a message at each field of a form.

use std::ops::Deref;

use bytes::Bytes;
use gancho_access::AccessError;
use http::{Response, StatusCode};
use serde::Deserialize;

use crate::{escape::Text, labels, texts::Texts};

/// An error response (RFC 9457). Boxed, so that results stay small.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Problem(Box<ProblemParts>);

#[derive(Debug, Clone, Deserialize)]
pub struct ProblemParts {
    pub status: u16,
    pub title: Text,
    #[serde(default)]
    pub detail: Text,
    #[serde(default)]
    pub code: Text,
    #[serde(default)]
    pub errors: Vec<FieldError>,
    #[serde(default)]
    pub request_id: Text,
}

#[derive(Debug, Clone, Deserialize)]
pub struct FieldError {
    pub pointer: String,
    pub detail: Text,
}

impl Deref for Problem {
    type Target = ProblemParts;

    fn deref(&self) -> &ProblemParts {
        &self.0
    }
}

impl Problem {
    /// Creates an error of the dashboard itself.
    pub fn new(status: StatusCode, code: &str, detail: &str) -> Self {
        Self(Box::new(ProblemParts {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or_default().into(),
            detail: detail.into(),
            code: code.into(),
            errors: Vec::new(),
            request_id: Text::default(),
        }))
    }

    /// Returns the error in a response of the API.
    pub fn of_response(response: &Response<Bytes>) -> Self {
        let problem = serde_json::from_slice(response.body());
        problem.unwrap_or_else(|_| Self::new(response.status(), "", ""))
    }

    pub fn no_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_page", "")
    }

    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "page failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "")
    }

    pub fn unavailable(error: &AccessError) -> Self {
        tracing::warn!(%error, "page unavailable");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "")
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Whether the user can fix it in the form that caused it.
    pub fn is_input(&self) -> bool {
        matches!(self.status, 400 | 409 | 413 | 422 | 429) || self.code.as_str() == "plan_limit"
    }

    /// Whether a filter in the URL of a list has an invalid value.
    pub fn is_filter(&self) -> bool {
        matches!(self.status, 400 | 422)
    }

    pub fn is_not_found(&self) -> bool {
        self.status == 404
    }
}

/// The errors of a form. Empty before it is sent.
#[derive(Debug, Clone, Default)]
pub struct FormErrors {
    pub problem: Option<Problem>,
}

impl From<Problem> for FormErrors {
    fn from(problem: Problem) -> Self {
        Self { problem: Some(problem) }
    }
}

impl FormErrors {
    /// Returns the error of a field, or of a part of it.
    pub fn of(&self, field: &str) -> Option<&Text> {
        let errors = &self.problem.as_ref()?.errors;
        let is_of = |pointer: &str| {
            let rest = pointer.strip_prefix('/').and_then(|rest| rest.strip_prefix(field));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        errors.iter().find(|error| is_of(&error.pointer)).map(|error| &error.detail)
    }

    /// Whether a parameter of a URL has an error. The API names it in the message.
    pub fn has_parameter(&self, name: &str) -> bool {
        let name = format!("`{name}`");
        let errors = self.problem.iter().flat_map(|problem| &problem.errors);
        errors.map(|error| error.detail.as_str()).any(|detail| detail.contains(&name))
    }

    pub fn has(&self, field: &str) -> bool {
        self.of(field).is_some()
    }

    pub fn status(&self) -> StatusCode {
        self.problem.as_ref().map_or(StatusCode::OK, Problem::status)
    }
}

impl Problem {
    /// Returns the error for a tenant's users, who do not know the operator's settings.
    #[must_use]
    pub fn for_tenants(mut self) -> Self {
        self.0.detail = without_advice(&self.0.detail);
        for error in &mut self.0.errors {
            error.detail = without_advice(&error.detail);
        }
        self
    }
}

impl Problem {
    /// Returns the error in the words of the forms. If several fields are invalid, each has its own message.
    #[must_use]
    pub fn with_labels(mut self, t: &Texts) -> Self {
        for error in &mut self.0.errors {
            error.detail = labels::with_labels(t, error.detail.as_str()).as_str().into();
        }
        self.0.detail = match self.0.errors.as_slice() {
            [] | [_] => labels::with_labels(t, self.0.detail.as_str()).as_str().into(),
            errors => {
                let all: Vec<_> = errors.iter().map(|error| error.detail.as_str()).collect();
                all.join("; ").as_str().into()
            }
        };
        self
    }
}

/// Removes the advice for the operator.
fn without_advice(detail: &Text) -> Text {
    let text = detail.as_str();
    text.split_once(", or ask the operator").map_or(text, |(before, _)| before).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_not_told_of_settings() {
        let detail = "`url` is plain HTTP; use https://, or ask the operator to set `allow_http`";
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "url_refused", detail);
        assert_eq!(problem.for_tenants().detail.as_str(), "`url` is plain HTTP; use https://");
    }
}
