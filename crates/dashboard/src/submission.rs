//! A form that someone sent. Every change is one: it must come from a page of the dashboard, and carry the
//! token of the session.

use std::{sync::Arc, time::Duration};

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::{HeaderMap, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};

use crate::{
    dashboard::Dashboard, drafts, origin, pages::error, params::Params, problem::Problem,
    visit::Visit,
};

/// Maximum size of a form.
const MAX_BYTES: usize = 1024 * 1024;
const READ_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Submission {
    pub visit: Visit,
    pub form: Params,
}

impl FromRequest<Arc<Dashboard>> for Submission {
    type Rejection = axum::response::Response;

    async fn from_request(
        request: Request,
        dashboard: &Arc<Dashboard>,
    ) -> Result<Self, Self::Rejection> {
        let (mut parts, body) = request.into_parts();
        let visit = match Visit::from_request_parts(&mut parts, dashboard).await {
            Ok(visit) => visit,
            Err(answer) => return Err(drafts::keep(dashboard, &parts, body, answer).await),
        };
        match read(&visit, &parts.headers, &parts.uri, body).await {
            Ok(form) => Ok(Self { visit, form }),
            Err(problem) => Err(error::show(&visit, &problem)),
        }
    }
}

async fn read(
    visit: &Visit,
    headers: &HeaderMap,
    uri: &Uri,
    body: axum::body::Body,
) -> Result<Params, Problem> {
    check_origin(headers, uri)?;
    let form = read_form(body).await?;
    if !form.get("csrf").is_some_and(|token| visit.visitor.has_csrf(token)) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "form_expired", ""));
    }
    Ok(form)
}

pub fn check_origin(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    if origin::is_own(headers, uri) {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "cross_site", ""))
}

pub async fn read_form(body: axum::body::Body) -> Result<Params, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "");
    let reading = Limited::new(body, MAX_BYTES).collect();
    let read = tokio::time::timeout(READ_TIMEOUT, reading).await;
    let read = read.map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "slow_body", ""))?;
    let bytes = read.map_err(|_| too_large())?.to_bytes();
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "bad_request", ""))?;
    Ok(Params::parse(text))
}
