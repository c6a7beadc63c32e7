//! Responses: a page with the headers that every page has, or a redirect.

use askama::Template;
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::icons;

/// Only the gateway's own files are loaded, and nothing runs inline.
macro_rules! sources {
    () => {
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
         font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'"
    };
}

/// No site may frame a page of the dashboard.
pub const POLICY: &str = concat!(sources!(), "; frame-ancestors 'none'");

/// Returns the policy of the portal, whose pages may be in frames of these origins.
pub fn portal_policy(origins: &[String]) -> String {
    let ancestors = if origins.is_empty() { "'none'".to_owned() } else { origins.join(" ") };
    format!(concat!(sources!(), "; frame-ancestors {}"), ancestors)
}

/// Headers of each response of the dashboard, except for its files.
pub const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

pub fn show(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => {
            let media_type = HeaderValue::from_static("text/html; charset=utf-8");
            let headers = [(header::CONTENT_TYPE, media_type)];
            (status, headers, HEADERS, Body::from(icons::insert(&html))).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "page failed");
            (StatusCode::INTERNAL_SERVER_ERROR, HEADERS).into_response()
        }
    }
}

/// Responds to a form that changed something: the browser loads that page.
pub fn see_other(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, HEADERS).into_response();
    };
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)], HEADERS).into_response()
}
