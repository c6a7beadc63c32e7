//! A successful response: a status, a body (usually JSON) and headers.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{Either, Full};
use serde::Serialize;

use gancho_domain::TenantId;

use crate::{
    problem::Problem,
    response_budget::{ResponseOwner, is_one_piece},
};

/// A body in one piece needs no box; a stream has one.
pub type AnswerBody = Either<Full<Bytes>, Body>;

/// What an operation reports about its action if the path of the request does not say it.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditDetails {
    pub tenant: Option<TenantId>,
    pub resource: Option<String>,
    /// The reason that the caller gave.
    pub reason: Option<String>,
    /// Whether nothing was done, so that there is nothing to record.
    pub is_dry_run: bool,
}

#[derive(Debug)]
pub struct Answer(Response<AnswerBody>);

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Answer {
    pub fn of(status: StatusCode, media_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(Either::Left(Full::new(body.into())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(6);
        headers.insert(header::CONTENT_TYPE, media_type);
        Self(response)
    }

    pub fn json(status: StatusCode, body: &impl Serialize) -> Result<Self, Problem> {
        match serde_json::to_vec(body) {
            Ok(bytes) => Ok(Self::of(status, JSON, bytes)),
            Err(error) => Err(Problem::internal(error)),
        }
    }

    pub fn ok(body: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::OK, body)
    }

    pub fn created(body: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::CREATED, body)
    }

    pub fn accepted(body: &impl Serialize) -> Result<Self, Problem> {
        Self::json(StatusCode::ACCEPTED, body)
    }

    pub fn no_content() -> Self {
        let mut response = Response::new(Either::Left(Full::default()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        Self(response)
    }

    /// Creates a response whose body is produced piece by piece.
    pub fn stream(media_type: &'static str, body: Body) -> Self {
        let mut response = Response::new(Either::Right(body));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        Self(response)
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }

    /// Names the tenant for the audit log, if the request does not.
    #[must_use]
    pub fn about(mut self, tenant: TenantId) -> Self {
        self.0.extensions_mut().get_or_insert_default::<AuditDetails>().tenant = Some(tenant);
        self
    }

    /// Names the changed resource for the audit log. Never the name or address of a person, because the audit
    /// log would store it.
    #[must_use]
    pub fn naming(mut self, resource: String) -> Self {
        self.0.extensions_mut().get_or_insert_default::<AuditDetails>().resource = Some(resource);
        self
    }

    /// Adds the caller's reason for the audit log, if there is one.
    #[must_use]
    pub fn because(mut self, reason: Option<String>) -> Self {
        if reason.is_some() {
            self.0.extensions_mut().get_or_insert_default::<AuditDetails>().reason = reason;
        }
        self
    }

    /// Marks a dry run: the operation counted what it would do, and did nothing.
    #[must_use]
    pub fn of_dry_run(mut self) -> Self {
        self.0.extensions_mut().get_or_insert_default::<AuditDetails>().is_dry_run = true;
        self
    }

    /// Sets the owner that the memory of the response counts for while it waits to be sent. A small one is
    /// not counted.
    #[must_use]
    pub(crate) fn owned_by(mut self, owner: ResponseOwner) -> Self {
        if !is_one_piece(self.0.body()) {
            self.0.extensions_mut().insert(owner);
        }
        self
    }

    pub(crate) fn audit_details(&self) -> Option<&AuditDetails> {
        self.0.extensions().get()
    }

    pub fn body(&self) -> &AnswerBody {
        self.0.body()
    }

    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Adds the headers that every response has.
    pub fn finish(mut self, request_id: HeaderValue) -> Response<AnswerBody> {
        let headers = self.0.headers_mut();
        headers.insert(HeaderName::from_static("x-request-id"), request_id);
        // Responses contain one tenant's data, sometimes a secret, so no cache may store them.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        self.0
    }
}

pub fn into_axum(response: Response<AnswerBody>) -> Response<Body> {
    response.map(Body::new)
}

/// Rounds up to whole seconds for `Retry-After`, so that no client retries too early.
pub fn whole_seconds(wait: std::time::Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::whole_seconds;

    #[test]
    fn waits_are_rounded_up() {
        for (millis, seconds) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (59_500, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis} ms");
        }
    }
}
