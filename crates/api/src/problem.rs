//! Error responses: `application/problem+json` (RFC 9457) with a stable code, and a text that says what is
//! wrong, where, and how to fix it. This is the only place that creates them.

use std::time::Duration;

use gancho_domain::FieldError;
use gancho_inbound::{ReceiveError, SourceError};
use gancho_mail::{SubmitError, suppression::ImportError};
use gancho_outbound::{
    EndpointError, EventTypeError, PlanLimit, PublishError, ReplayError, TryOutError,
};
use gancho_store::StoreError;
use http::{HeaderName, HeaderValue, header};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, whole_seconds},
    codes::{self, Code},
    input::{FieldErrors, body::BodyError, field::Noun},
};

/// An error response. Boxed, so that results stay small.
#[derive(Debug)]
pub struct Problem(Box<ProblemParts>);

#[derive(Debug)]
struct ProblemParts {
    code: &'static Code,
    detail: String,
    errors: Vec<FieldError>,
    /// Members beyond those that every problem has.
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
    errors: Vec<FieldErrorBody<'a>>,
    request_id: &'a str,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct FieldErrorBody<'a> {
    pointer: &'a str,
    detail: &'a str,
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

    /// The same for another tenant's object and for one that does not exist, so that the response reveals
    /// nothing.
    pub fn not_found(noun: Noun) -> Self {
        let (word, what) = (noun.word(), if noun.prefix().is_some() { "id" } else { "name" });
        let detail = match noun {
            Noun::Suppression => "this address is not suppressed for this tenant".to_owned(),
            Noun::Tenant | Noun::Lane | Noun::Source | Noun::SourceKey | Noun::Receipt => {
                format!("no {word} with this {what} exists")
            }
            _ => format!("no {word} with this {what} exists for this tenant"),
        };
        Self::new(&codes::NOT_FOUND, detail)
    }

    /// The path exists, and supports only these methods.
    pub fn method_not_allowed(methods: &[&str]) -> Self {
        let detail = format!("method not allowed; use {}", methods.join(" or "));
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

    /// One field with an invalid value.
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

    /// A request of the gateway came back to it.
    pub fn loop_detected() -> Self {
        let detail = "this gateway sent the request itself; change the URL of the webhook or the target of the source that points here";
        Self::new(&codes::LOOP_DETECTED, detail)
    }

    /// An internal error. Its cause is logged, not shown to the caller.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        tracing::error!(error = %what, "internal error");
        Self::new(
            &codes::INTERNAL,
            "the gateway failed to process the request; retry, and report the `request_id` to the operator if the error persists",
        )
    }

    /// The problem as one item of a list of results.
    pub fn as_value(&self) -> Value {
        let errors: Vec<_> = self.0.errors.iter().map(field_error_body).collect();
        let mut value = json!({
            "code": self.0.code.code,
            "detail": self.0.detail,
            "errors": errors,
        });
        if let Value::Object(members) = &mut value {
            members.extend(self.0.more.clone());
        }
        value
    }

    pub fn into_answer(self, request_id: &str) -> Answer {
        let ProblemParts { code, detail, errors, more, headers } = *self.0;
        let body = ProblemBody {
            r#type: format!("/docs/errors/{}", code.code),
            title: code.title,
            status: code.status.as_u16(),
            detail: &detail,
            code: code.code,
            errors: errors.iter().map(field_error_body).collect(),
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

fn field_error_body(error: &FieldError) -> FieldErrorBody<'_> {
    FieldErrorBody { pointer: &error.pointer, detail: &error.message }
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

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::new(
                &codes::STORAGE_FULL,
                "the store is full and accepts no new data; retry later",
            )
            .retry_after(Duration::from_secs(30)),
            StoreError::Unavailable(_) | StoreError::Broken(_) | StoreError::Fenced => {
                tracing::warn!(%error, "store unavailable");
                Self::new(
                    &codes::UNAVAILABLE,
                    "the store is unavailable or the gateway is shutting down; nothing was accepted, retry",
                )
                .retry_after(Duration::from_secs(2))
            }
            StoreError::Busy(_) => Self::new(
                &codes::RATE_LIMITED,
                "too many requests of this tenant are in progress; send fewer at a time, and retry",
            )
            .retry_after(Duration::from_secs(1)),
            StoreError::Taken(what) => {
                Self::new(&codes::TAKEN, format!("{what} already exists; choose another name"))
            }
            StoreError::Refused(_) | StoreError::Corrupt(_) | StoreError::Invalid(_) => {
                Self::internal(error)
            }
        }
    }
}

impl From<PlanLimit> for Problem {
    fn from(limit: PlanLimit) -> Self {
        Self::new(&codes::PLAN_LIMIT, limit.to_string())
            .with_member("plan", json!(limit.plan))
            .with_member("what", json!(limit.what))
            .with_member("limit", json!(limit.limit))
            .with_member("used", json!(limit.used))
            .with_member("resets_at", json!(limit.resets_at.map(|at| at.to_string())))
    }
}

impl From<EndpointError> for Problem {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Faulty(errors) => Self::invalid_fields(errors),
            EndpointError::PlanLimit(limit) => limit.into(),
            EndpointError::NotFound => Self::not_found(Noun::Webhook),
            EndpointError::Busy => Self::new(
                &codes::CONFLICT,
                "the webhook is being changed by others; read it again and retry",
            ),
            EndpointError::Store(error) => error.into(),
            EndpointError::Vault(why) => Self::internal(why),
        }
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Faulty(errors) => Self::invalid_fields(errors),
            PublishError::PlanLimit(limit) => limit.into(),
            PublishError::KeyClash { first } => Self::new(
                &codes::IDEMPOTENCY_MISMATCH,
                format!("the idempotency key was already used for a different event ({first}); use a new key"),
            ),
            PublishError::TooFast { retry_after, limit, remaining, reset } => Self::new(
                &codes::RATE_LIMITED,
                format!("rate limit exceeded: at most {limit} events at once; wait for the number of seconds in `Retry-After`"),
            )
            .with(HeaderName::from_static("ratelimit-limit"), HeaderValue::from(limit))
            .with(HeaderName::from_static("ratelimit-remaining"), HeaderValue::from(remaining))
            .with(
                HeaderName::from_static("ratelimit-reset"),
                HeaderValue::from(whole_seconds(reset)),
            )
            .retry_after(retry_after),
            PublishError::Store(error) => error.into(),
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Faulty(errors) => Self::invalid_fields(errors),
            SubmitError::KeyClash { first } => Self::new(
                &codes::IDEMPOTENCY_MISMATCH,
                format!(
                    "the idempotency key was already used for a different e-mail ({first}); use a new key"
                ),
            ),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Faulty(errors) => Self::invalid_fields(errors),
            ImportError::Store(error) => error.into(),
        }
    }
}

impl From<EventTypeError> for Problem {
    fn from(error: EventTypeError) -> Self {
        match error {
            EventTypeError::Faulty(errors) => Self::invalid_fields(errors),
            EventTypeError::NotFound => Self::not_found(Noun::EventType),
            EventTypeError::Store(error) => error.into(),
            EventTypeError::BuiltIn => Self::new(
                &codes::CONFLICT,
                "a built-in event type cannot be deleted; register your own under the same name to replace it",
            ),
            EventTypeError::TooMany { max } => Self::field(
                "/name",
                format!("the limit of {max} event types is reached; delete some first"),
            ),
        }
    }
}

impl From<ReplayError> for Problem {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Faulty(errors) => Self::invalid_fields(errors),
            ReplayError::NotFound => Self::not_found(Noun::Replay),
            ReplayError::Over => Self::new(
                &codes::CONFLICT,
                "the replay has already finished and cannot be canceled",
            ),
            ReplayError::Store(error) => error.into(),
        }
    }
}

/// A rejected webhook. Contains only what the sender may know.
impl From<ReceiveError> for Problem {
    fn from(denied: ReceiveError) -> Self {
        let code = match denied.code {
            "malformed_request" => &codes::BAD_REQUEST,
            other => codes::find(other).unwrap_or(&codes::DENY_INVALID_ACCESS),
        };
        let mut problem = Self::new(code, denied.detail);
        problem.0.errors = denied.faults.into_vec();
        match denied.retry_after {
            Some(wait) => problem.retry_after(wait),
            None => problem,
        }
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Faulty(errors) => Self::invalid_fields(errors),
            SourceError::NotFound => Self::not_found(Noun::Source),
            SourceError::Taken(_) => Self::new(&codes::TAKEN, error.to_string()),
            SourceError::TooMany { .. } => Self::field("", error.to_string()),
            SourceError::Busy => Self::new(&codes::CONFLICT, error.to_string()),
            SourceError::Store(error) => error.into(),
            SourceError::Vault(why) => Self::internal(why),
        }
    }
}

impl From<TryOutError> for Problem {
    fn from(error: TryOutError) -> Self {
        match error {
            TryOutError::NotFound => Self::not_found(Noun::Webhook),
            TryOutError::EndpointOff => Self::new(
                &codes::CONFLICT,
                "the webhook is disabled; set `is_active` to true first",
            ),
            TryOutError::Paused(_) => Self::new(&codes::CONFLICT, error.to_string()),
            TryOutError::Faulty(errors) => Self::invalid_fields(errors),
            TryOutError::Publish(error) => error.into(),
            TryOutError::Store(error) => error.into(),
        }
    }
}
