//! Error responses: `application/problem+json` (RFC 9457) with a stable code, and a text that says what is
//! wrong, where, and how to fix it. This is the only place that creates them; `flow_errors` converts the
//! errors of the flows.

mod flow_errors;

use std::time::Duration;

use gancho_domain::FieldError;
use http::{HeaderName, HeaderValue, header};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    answer::{Answer, whole_seconds},
    codes::{self, Code},
    input::{FieldErrors, body::BodyError, field::ResourceKind},
};

/// An error response. Boxed, so that results stay small.
#[derive(Debug)]
pub struct Problem(Box<ProblemParts>);

#[derive(Debug)]
struct ProblemParts {
    code: &'static Code,
    detail: String,
    errors: Vec<FieldError>,
    /// Members in addition to those that every problem has.
    more: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    errors: Vec<InvalidField>,
    request_id: &'a str,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

/// What is wrong with one field of a request.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvalidField {
    /// JSON pointer (RFC 6901) into the request body; empty if the error is not about a field of the body.
    pub pointer: String,
    /// What is wrong there, and how to fix it.
    pub detail: String,
}

impl Problem {
    pub fn new(code: &'static Code, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemParts {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            more: Map::new(),
            headers: Vec::new(),
        }))
    }

    pub fn code(&self) -> &'static Code {
        self.0.code
    }

    /// Returns the same error for another tenant's object and for one that does not exist, so that the
    /// response reveals nothing.
    pub fn not_found(noun: ResourceKind) -> Self {
        let (word, what) = (noun.word(), if noun.prefix().is_some() { "id" } else { "name" });
        let detail = match noun {
            ResourceKind::Suppression => {
                "this address is not suppressed for this tenant".to_owned()
            }
            ResourceKind::Tenant
            | ResourceKind::Lane
            | ResourceKind::Source
            | ResourceKind::SourceKey
            | ResourceKind::Receipt
            | ResourceKind::Silence
            | ResourceKind::Cell
            | ResourceKind::User => {
                format!("no {word} with this {what} exists")
            }
            _ => format!("no {word} with this {what} exists for this tenant"),
        };
        Self::new(&codes::NOT_FOUND, detail)
    }

    /// Returns the error for a path that supports only other methods.
    pub fn method_not_allowed(methods: &[&str]) -> Self {
        let list = match methods.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        };
        let detail = format!("method not allowed; use {list}");
        let problem = Self::new(&codes::METHOD_NOT_ALLOWED, detail);
        match HeaderValue::from_str(&methods.join(", ")) {
            Ok(allow) => problem.with(header::ALLOW, allow),
            Err(_) => problem,
        }
    }

    pub fn invalid_fields(errors: Vec<FieldError>) -> Self {
        let code = errors.first().map_or(&codes::INVALID_FIELD, |first| code_of(first.code));
        let detail = match &errors[..] {
            [] => "the request is not valid".to_owned(),
            [one] => one.message.clone(),
            [first, rest @ ..] => {
                format!("{} (and {} more, see `errors`)", first.message, rest.len())
            }
        };
        let mut problem = Self::new(code, detail);
        problem.0.errors = errors;
        problem
    }

    /// Returns the error for one field with an invalid value.
    pub fn field(pointer: &str, message: impl Into<String>) -> Self {
        let mut errors = FieldErrors::default();
        errors.invalid(pointer, message);
        errors.into()
    }

    /// Prefixes the pointers of the errors, for errors in a part of the request.
    #[must_use]
    pub fn below(mut self, pointer: &str) -> Self {
        for error in &mut self.0.errors {
            error.pointer.insert_str(0, pointer);
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    #[must_use]
    fn with_member(mut self, name: &str, value: Value) -> Self {
        self.0.more.insert(name.to_owned(), value);
        self
    }

    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        self.with(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait).max(1)))
    }

    /// Returns the error for a request of a gateway that reached it again, or another one's API.
    pub fn loop_detected() -> Self {
        let detail = "a gateway sent the request; change the URL of the webhook or the target of the source that points here";
        Self::new(&codes::LOOP_DETECTED, detail)
    }

    /// Returns the error if the store did not respond in time.
    pub fn no_answer() -> Self {
        let detail = "the database did not respond in time; whether the request was carried out is not known. Repeat it, a publish with the same idempotency key";
        Self::new(&codes::UNAVAILABLE, detail).retry_after(Duration::from_secs(5))
    }

    /// Returns an internal error. Its cause is logged, not shown to the caller.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        tracing::error!(error = %what, "internal error");
        Self::new(
            &codes::INTERNAL,
            "the gateway failed to process the request; retry, and report the `request_id` to the operator if the error persists",
        )
    }

    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    pub fn errors(&self) -> Vec<InvalidField> {
        self.0.errors.iter().map(invalid_field).collect()
    }

    /// Returns the members in addition to those that every problem has.
    pub const fn more(&self) -> &Map<String, Value> {
        &self.0.more
    }

    pub fn into_answer(self, request_id: &str) -> Answer {
        let ProblemParts { code, detail, errors, more, headers } = *self.0;
        let body = ProblemBody {
            r#type: format!("/docs/errors/{}", code.code),
            title: code.title,
            status: code.status.as_u16(),
            detail: &detail,
            code: code.code,
            errors: errors.iter().map(invalid_field).collect(),
            request_id,
            more: &more,
        };
        // Serializing strings and numbers cannot fail.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut answer = Answer::of(code.status, HeaderValue::from_static(MEDIA_TYPE), body);
        for (name, value) in headers {
            answer = answer.with(name, value);
        }
        answer
    }
}

/// Maps the code of a field error to the code of the response. The flows have finer codes than the API.
fn code_of(word: &str) -> &'static Code {
    match word {
        "required" => &codes::MISSING_FIELD,
        "event_type_reserved" => &codes::RESERVED_EVENT_TYPE,
        "event_type_unknown" => &codes::UNKNOWN_EVENT_TYPE,
        "schema" | "schema_mismatch" => &codes::SCHEMA_MISMATCH,
        word => codes::find(word)
            .filter(|code| code.status == codes::INVALID_FIELD.status)
            .unwrap_or(&codes::INVALID_FIELD),
    }
}

pub const MEDIA_TYPE: &str = "application/problem+json";

fn invalid_field(error: &FieldError) -> InvalidField {
    InvalidField { pointer: error.pointer.clone(), detail: error.message.clone() }
}

impl From<FieldErrors> for Problem {
    fn from(errors: FieldErrors) -> Self {
        Self::invalid_fields(errors.0)
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Malformed(why) => Self::new(&codes::BAD_JSON, why),
            BodyError::Invalid(errors) => errors.into(),
            BodyError::Mismatch => Self::internal("a body does not match its type"),
        }
    }
}
