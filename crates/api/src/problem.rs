//! The one place where a refusal becomes an answer: `application/problem+json` (RFC 9457) with a
//! stable code, a sentence that says what is wrong and what to do, and where.

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
    input::{Faults, body::Unread, field::Noun},
};

/// A refusal. Boxed, so that what goes well is not made larger by what may go wrong.
#[derive(Debug)]
pub struct Problem(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: &'static Code,
    detail: String,
    errors: Vec<FieldError>,
    /// Members beyond those that every refusal has.
    more: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Serialize)]
struct Shown<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    errors: Vec<ShownFault<'a>>,
    request_id: &'a str,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct ShownFault<'a> {
    pointer: &'a str,
    detail: &'a str,
}

impl Problem {
    pub fn new(code: &'static Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
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

    /// The same for what is another's and for what does not exist, so that nothing is learnt from it.
    pub fn not_found(noun: Noun) -> Self {
        let (word, what) = (noun.word(), if noun.prefix().is_some() { "id" } else { "name" });
        let article = if word.starts_with(['a', 'e', 'A']) { "an" } else { "a" };
        if matches!(noun, Noun::Tenant | Noun::Source | Noun::SourceKey | Noun::Receipt) {
            let detail = format!("there is no {word} of this {what}: the list shows what there is");
            return Self::new(&codes::NOT_FOUND, detail);
        }
        Self::new(
            &codes::NOT_FOUND,
            format!(
                "there is no {word} of this {what}: check it, and that it is {article} {word} of this tenant's"
            ),
        )
    }

    pub fn faulty(faults: Vec<FieldError>) -> Self {
        let code = faults.first().map_or(&codes::INVALID_FIELD, |first| code_of(first.code));
        let detail = match &faults[..] {
            [] => "the request cannot be taken as it is".to_owned(),
            [one] => one.message.clone(),
            [first, rest @ ..] => {
                format!("{}; and {} more, see `errors`", first.message, rest.len())
            }
        };
        let mut problem = Self::new(code, detail);
        problem.0.errors = faults;
        problem
    }

    /// One field that holds what it cannot hold.
    pub fn field(pointer: &str, message: impl Into<String>) -> Self {
        let mut faults = Faults::default();
        faults.invalid(pointer, message);
        faults.into()
    }

    /// About a part of what was given: its faults are told from there.
    #[must_use]
    pub fn below(mut self, pointer: &str) -> Self {
        for fault in &mut self.0.errors {
            fault.pointer.insert_str(0, pointer);
        }
        self
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    #[must_use]
    fn and(mut self, name: &str, value: Value) -> Self {
        self.0.more.insert(name.to_owned(), value);
        self
    }

    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        self.with(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait).max(1)))
    }

    /// The gateway's own request has come back to it.
    pub fn loop_detected() -> Self {
        let detail = "this gateway has sent the request itself: change the URL of the webhook or the target of the source that leads here";
        Self::new(&codes::LOOP_DETECTED, detail)
    }

    /// Something of ours broke. What it was is for the log, not for the caller.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        tracing::error!(fault = %what, "a request failed");
        Self::new(
            &codes::INTERNAL,
            "something went wrong in the gateway: try again, and give the operator the request id if it stays",
        )
    }

    /// As one item of a list of outcomes.
    pub fn as_value(&self) -> Value {
        let faults: Vec<_> = self.0.errors.iter().map(shown_fault).collect();
        let mut value = json!({
            "code": self.0.code.code,
            "detail": self.0.detail,
            "errors": faults,
        });
        if let Value::Object(members) = &mut value {
            members.extend(self.0.more.clone());
        }
        value
    }

    pub fn into_answer(self, request_id: &str) -> Answer {
        let Inner { code, detail, errors, more, headers } = *self.0;
        let shown = Shown {
            r#type: format!("/docs/errors/{}", code.code),
            title: code.title,
            status: code.status.as_u16(),
            detail: &detail,
            code: code.code,
            errors: errors.iter().map(shown_fault).collect(),
            request_id,
            more: &more,
        };
        // It is made of texts and numbers: it cannot fail.
        let body = serde_json::to_vec(&shown).unwrap_or_default();
        let mut answer = Answer::of(code.status, HeaderValue::from_static(MEDIA_TYPE), body);
        for (name, value) in headers {
            answer = answer.with(name, value);
        }
        answer
    }
}

/// The code of the answer to a fault. The flows have finer words than there are pages for.
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

fn shown_fault(fault: &FieldError) -> ShownFault<'_> {
    ShownFault { pointer: &fault.pointer, detail: &fault.message }
}

impl From<Faults> for Problem {
    fn from(faults: Faults) -> Self {
        Self::faulty(faults.0)
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Malformed(why) => Self::new(&codes::BAD_JSON, why),
            Unread::Faulty(faults) => faults.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::new(
                &codes::STORAGE_FULL,
                "the store is full and takes nothing more: try again later",
            )
            .retry_after(Duration::from_secs(30)),
            StoreError::Unavailable(_) | StoreError::Broken(_) | StoreError::Fenced => {
                tracing::warn!(%error, "the store did not answer");
                Self::new(
                    &codes::UNAVAILABLE,
                    "the gateway cannot reach its store, or is stopping: nothing was accepted, try again",
                )
                .retry_after(Duration::from_secs(2))
            }
            StoreError::Busy(_) => Self::new(
                &codes::RATE_LIMITED,
                "too many calls of this tenant are waiting: make fewer at a time, and try again",
            )
            .retry_after(Duration::from_secs(1)),
            StoreError::Taken(what) => {
                Self::new(&codes::TAKEN, format!("{what} is taken already: choose another"))
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
            .and("plan", json!(limit.plan))
            .and("what", json!(limit.what))
            .and("limit", json!(limit.limit))
            .and("used", json!(limit.used))
            .and("resets_at", json!(limit.resets_at.map(|at| at.to_string())))
    }
}

impl From<EndpointError> for Problem {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Faulty(faults) => Self::faulty(faults),
            EndpointError::PlanLimit(limit) => limit.into(),
            EndpointError::NotFound => Self::not_found(Noun::Webhook),
            EndpointError::Busy => Self::new(
                &codes::CONFLICT,
                "the webhook kept being changed by others: read it again and try again",
            ),
            EndpointError::Store(error) => error.into(),
            EndpointError::Vault(why) => Self::internal(why),
        }
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Faulty(faults) => Self::faulty(faults),
            PublishError::PlanLimit(limit) => limit.into(),
            PublishError::KeyClash { first } => Self::new(
                &codes::IDEMPOTENCY_MISMATCH,
                format!("the idempotency key was used for another event ({first}): use a new key"),
            ),
            PublishError::TooFast { retry_after, limit, remaining, reset } => Self::new(
                &codes::RATE_LIMITED,
                format!("events come too fast: at most {limit} are taken at once; wait as `Retry-After` says"),
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
            SubmitError::Faulty(faults) => Self::faulty(faults),
            SubmitError::KeyClash { first } => Self::new(
                &codes::IDEMPOTENCY_MISMATCH,
                format!("the idempotency key was used for another e-mail ({first}): use a new key"),
            ),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Faulty(faults) => Self::faulty(faults),
            ImportError::Store(error) => error.into(),
        }
    }
}

impl From<EventTypeError> for Problem {
    fn from(error: EventTypeError) -> Self {
        match error {
            EventTypeError::Faulty(faults) => Self::faulty(faults),
            EventTypeError::NotFound => Self::not_found(Noun::EventType),
            EventTypeError::Store(error) => error.into(),
            EventTypeError::BuiltIn => Self::new(
                &codes::CONFLICT,
                "this event type is built in and cannot be deleted: register one of your own under its name to replace it",
            ),
            EventTypeError::TooMany { max } => Self::field(
                "/name",
                format!("there are {max} event types already: delete or merge some first"),
            ),
        }
    }
}

impl From<ReplayError> for Problem {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Faulty(faults) => Self::faulty(faults),
            ReplayError::NotFound => Self::not_found(Noun::Replay),
            ReplayError::Over => Self::new(
                &codes::CONFLICT,
                "the replay is over already: there is nothing to cancel",
            ),
            ReplayError::Store(error) => error.into(),
        }
    }
}

/// A webhook that was turned away. Nothing but what the sender may know goes into it.
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
            SourceError::Faulty(faults) => Self::faulty(faults),
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
                "the webhook is switched off: set `is_active` to true first",
            ),
            TryOutError::Paused(_) => Self::new(&codes::CONFLICT, error.to_string()),
            TryOutError::Faulty(faults) => Self::faulty(faults),
            TryOutError::Publish(error) => error.into(),
            TryOutError::Store(error) => error.into(),
        }
    }
}
