//! Converts the errors of the flows and of the store into problems.

use std::time::Duration;

use gancho_inbound::{ReceiveError, SourceError};
use gancho_mail::{SubmitError, suppression::ImportError};
use gancho_outbound::{
    EndpointError, EndpointTestError, EventTypeError, PlanLimit, PublishError, ReplayError,
};
use gancho_store::StoreError;
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::Problem;
use crate::{answer::whole_seconds, codes, input::field::ResourceKind, line_limit::LineLimit};

/// In an outage every request fails in the same way.
static UNAVAILABLE_LINES: LineLimit = LineLimit::per(Duration::from_secs(5));

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full(_) => Self::new(
                &codes::STORAGE_FULL,
                "the store is full and accepts no new data; retry later",
            )
            .retry_after(Duration::from_secs(30)),
            StoreError::Unavailable(_)
            | StoreError::TimedOut(_)
            | StoreError::Broken(_)
            | StoreError::Fenced => {
                if let Some(suppressed) = UNAVAILABLE_LINES.allow() {
                    tracing::warn!(%error, suppressed, "store unavailable");
                }
                if matches!(error, StoreError::TimedOut(_)) {
                    return Self::no_answer();
                }
                Self::new(
                    &codes::UNAVAILABLE,
                    "the store is unavailable or the gateway is shutting down; nothing was accepted, retry",
                )
                .retry_after(Duration::from_secs(2))
            }
            StoreError::Moving(_) => Self::new(
                &codes::TENANT_MOVING,
                "the tenant is being moved to another database; nothing was changed, retry in a moment",
            )
            .retry_after(Duration::from_secs(1)),
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
            EndpointError::TooLarge => Self::field("", error.to_string()),
            EndpointError::NotFound => Self::not_found(ResourceKind::Webhook),
            EndpointError::ExternalIdTaken => Self::new(
                &codes::TAKEN,
                "another webhook of this tenant has this `external_id`; choose another one, or change that webhook",
            ),
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
            EventTypeError::NotFound => Self::not_found(ResourceKind::EventType),
            EventTypeError::Taken => Self::new(&codes::TAKEN, error.to_string()),
            EventTypeError::Store(error) => error.into(),
            EventTypeError::BuiltIn => Self::new(
                &codes::CONFLICT,
                "a built-in event type cannot be deleted; register your own under the same name to replace it",
            ),
            EventTypeError::TooMany { .. } => Self::field("/name", error.to_string()),
        }
    }
}

impl From<ReplayError> for Problem {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Faulty(errors) => Self::invalid_fields(errors),
            ReplayError::NotFound => Self::not_found(ResourceKind::Replay),
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
        let mut problem = Self::new(code_of(denied.code), denied.detail);
        problem.0.errors = denied.errors.into_vec();
        match denied.retry_after {
            Some(wait) => problem.retry_after(wait),
            None => problem,
        }
    }
}

fn code_of(denied: &str) -> &'static codes::Code {
    match denied {
        "malformed_request" => &codes::BAD_REQUEST,
        other => codes::find(other).unwrap_or(&codes::DENY_INVALID_ACCESS),
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Faulty(errors) => Self::invalid_fields(errors),
            SourceError::NotFound => Self::not_found(ResourceKind::Source),
            SourceError::Taken(_) => Self::new(&codes::TAKEN, error.to_string()),
            SourceError::TooMany { .. } => Self::field("", error.to_string()),
            SourceError::Busy => Self::new(&codes::CONFLICT, error.to_string()),
            SourceError::Store(error) => error.into(),
            SourceError::Vault(why) => Self::internal(why),
        }
    }
}

impl From<EndpointTestError> for Problem {
    fn from(error: EndpointTestError) -> Self {
        match error {
            EndpointTestError::NotFound => Self::not_found(ResourceKind::Webhook),
            EndpointTestError::EndpointOff => Self::new(
                &codes::CONFLICT,
                "the webhook is disabled; set `is_active` to true first",
            ),
            EndpointTestError::Paused(_) => Self::new(&codes::CONFLICT, error.to_string()),
            EndpointTestError::Faulty(errors) => Self::invalid_fields(errors),
            EndpointTestError::Publish(error) => error.into(),
            EndpointTestError::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rejection_is_answered_with_its_own_status() {
        for (status, code) in gancho_inbound::outcome::CODES {
            assert_eq!(code_of(code).status.as_u16(), *status, "{code}");
        }
    }
}
