//! A form that someone sent. Every change is one: it must come from a page of the dashboard, and have the
//! token of the session.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Request},
};
use http::{HeaderMap, StatusCode, Uri, request::Parts};

use crate::{
    dashboard::Dashboard,
    drafts,
    form_body::{self, FormBody},
    origin,
    pages::error,
    params::Params,
    problem::Problem,
    visit::Visit,
};

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
        match read(&visit, &parts, body).await {
            Ok(form) => Ok(Self { visit, form }),
            Err(problem) => Err(error::show(&visit, &problem)),
        }
    }
}

async fn read(visit: &Visit, parts: &Parts, body: Body) -> Result<Params, Problem> {
    check_origin(&parts.headers, &parts.uri)?;
    let sender = visit.principal();
    let read = form_body::read(&visit.dashboard, Some(&sender), parts, body).await?;
    let FormBody { form, guard } = read;
    let _ = visit.form_guard.set(guard);
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
