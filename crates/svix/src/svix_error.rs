//! An error in the form of Svix, so that its clients raise their own exceptions.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde::{Deserialize, Serialize};

/// An error response. Boxed, so that results stay small.
#[derive(Debug)]
pub struct SvixError(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    body: Body,
    retry_after: Option<HeaderValue>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Body {
    Standard { code: String, detail: String },
    Validation { detail: Vec<InvalidField> },
}

/// One invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InvalidField {
    /// Such as `["body", "url"]`.
    pub loc: Vec<String>,
    pub msg: String,
    pub r#type: &'static str,
}

/// The names or paths of fields of the API, with those of Svix.
pub type Names = &'static [(&'static str, &'static str)];

/// An error of the gateway's own API.
#[derive(Deserialize, Default)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    errors: Vec<ProblemField>,
}

#[derive(Deserialize)]
struct ProblemField {
    pointer: String,
    detail: String,
}

/// The error for a repeated request that is not the same.
pub const MISMATCH: &str = "the idempotency key was used for a request with another body";

impl InvalidField {
    pub fn value(loc: &[&str], msg: impl Into<String>) -> Self {
        Self { loc: owned(loc), msg: msg.into(), r#type: "value_error" }
    }

    pub fn kind(loc: &[&str], msg: impl Into<String>) -> Self {
        Self { loc: owned(loc), msg: msg.into(), r#type: "type_error" }
    }

    pub fn missing(loc: &[&str]) -> Self {
        let msg = "field required".to_owned();
        Self { loc: owned(loc), msg, r#type: "value_error.missing" }
    }
}

fn owned(loc: &[&str]) -> Vec<String> {
    loc.iter().map(|part| (*part).to_owned()).collect()
}

impl SvixError {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        let body = Body::Standard { code: code.to_owned(), detail: detail.into() };
        Self(Box::new(Parts { status, body, retry_after: None }))
    }

    pub fn invalid_fields(detail: Vec<InvalidField>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self(Box::new(Parts { status, body: Body::Validation { detail }, retry_after: None }))
    }

    pub fn field(loc: &[&str], msg: impl Into<String>) -> Self {
        Self::invalid_fields(vec![InvalidField::value(loc, msg)])
    }

    /// Returns the same error for what does not exist and for what belongs to another application.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("{what} not found"))
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    pub fn throttled(detail: impl Into<String>, wait: Duration) -> Self {
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "throttled", detail);
        let seconds = wait.as_secs_f64().ceil() as u64;
        error.0.retry_after = Some(HeaderValue::from(seconds.max(1)));
        error
    }

    pub fn unsupported(why: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_supported", why)
    }

    /// Returns an internal error.
    pub fn internal() -> Self {
        let detail = "the gateway failed to process the request; retry it";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", detail)
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    pub fn is_not_found(&self) -> bool {
        self.0.status == StatusCode::NOT_FOUND
    }

    /// Translates an error of the API. `names` has Svix's names for the fields of the request.
    pub fn of_problem(response: &Response<Bytes>, names: Names) -> Self {
        let status = response.status();
        let problem: Problem = serde_json::from_slice(response.body()).unwrap_or_default();
        let mut error = if problem.code == "bad_cursor" {
            let text = "the iterator is not valid for this list; start again without it";
            Self::field(&["query", "iterator"], text)
        } else if problem.code == "idempotency_mismatch" {
            Self::conflict(MISMATCH)
        } else if problem.errors.is_empty() && status != StatusCode::UNPROCESSABLE_ENTITY {
            Self::new(status, svix_code(status, &problem.code), problem.detail)
        } else if problem.errors.is_empty() {
            Self::field(&["body"], problem.detail)
        } else {
            Self::invalid_fields(
                problem.errors.iter().map(|error| translated(error, names)).collect(),
            )
        };
        error.0.retry_after = response.headers().get(header::RETRY_AFTER).cloned();
        error
    }

    pub fn into_response(self) -> Response<Bytes> {
        let Parts { status, body, retry_after } = *self.0;
        // Writing a string cannot fail.
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Bytes::from(text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = retry_after {
            headers.insert(header::RETRY_AFTER, wait);
        }
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"gancho\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Returns the code that Svix has for a status; the gateway's own code if it has none.
fn svix_code(status: StatusCode, own: &str) -> &str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_failed",
        StatusCode::FORBIDDEN => "insufficient access",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::CONFLICT => "conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "payload_too_large",
        StatusCode::TOO_MANY_REQUESTS => "throttled",
        StatusCode::INTERNAL_SERVER_ERROR => "server_error",
        _ if own.is_empty() => "generic_error",
        _ => own,
    }
}

fn translated(error: &ProblemField, names: Names) -> InvalidField {
    let mut loc = vec!["body".to_owned()];
    let path = error.pointer.trim_start_matches('/');
    let find = |own: &str| names.iter().find(|(name, _)| *name == own).map(|(_, svix)| *svix);
    if let Some(svix) = find(path) {
        loc.push(svix.to_owned());
    } else {
        for (depth, part) in error.pointer.split('/').skip(1).enumerate() {
            let part = part.replace("~1", "/").replace("~0", "~");
            let known = find(&part).filter(|_| depth == 0);
            loc.push(known.map_or(part, ToOwned::to_owned));
        }
    }
    let msg = names.iter().fold(error.detail.clone(), |msg, (own, svix)| {
        msg.replace(&format!("`{own}`"), &format!("`{svix}`"))
    });
    InvalidField { loc, msg, r#type: "value_error" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(status: u16, body: &str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    }

    fn text(error: SvixError) -> String {
        String::from_utf8(error.into_response().into_body().to_vec()).unwrap()
    }

    #[test]
    fn fields_get_the_names_of_svix() {
        let body = r#"{"code":"invalid_field","detail":"x","errors":[
            {"pointer":"/events/0","detail":"not a type"},{"pointer":"","detail":"whole"}]}"#;
        let names: Names = &[("events", "eventTypes")];
        let error = SvixError::of_problem(&problem(422, body), names);
        assert_eq!(error.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(
            text(error),
            r#"{"detail":[{"loc":["body","eventTypes","0"],"msg":"not a type","type":"value_error"},{"loc":["body"],"msg":"whole","type":"value_error"}]}"#
        );
    }

    #[test]
    fn other_errors_have_a_code_and_a_detail() {
        let body = r#"{"code":"invalid_credentials","detail":"unknown key","errors":[]}"#;
        let error = SvixError::of_problem(&problem(401, body), &[]);
        let text = text(error);
        assert_eq!(text, r#"{"code":"authentication_failed","detail":"unknown key"}"#);
        let empty = SvixError::of_problem(&problem(502, ""), &[]);
        assert_eq!(empty.status().as_u16(), 502);
    }

    #[test]
    fn a_tampered_cursor_is_an_invalid_iterator() {
        let body = r#"{"code":"bad_cursor","detail":"no"}"#;
        let text = text(SvixError::of_problem(&problem(400, body), &[]));
        assert!(text.contains(r#""loc":["query","iterator"]"#), "{text}");
    }
}
