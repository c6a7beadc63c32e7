//! The URLs of the portal: pages of the dashboard for the users of one tenant, below `/portal`.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    middleware::{Next, from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use bytes::Bytes;
use gancho_access::portal::PREFIX;
use http::{HeaderValue, Method, StatusCode, header};

use crate::{
    base::Base,
    cookies,
    dashboard::Dashboard,
    handlers::{PageResult, form, miss, refuse_method, with_headers},
    language::Language,
    page,
    pages::{self, error},
    portal_session::{YEAR_SECS, enter},
    problem::Problem,
    submission::Submission,
    visit::Visit,
};

pub fn router(dashboard: &Arc<Dashboard>) -> Router<Arc<Dashboard>> {
    let pages = pages::portal_router()
        .route("/portal/preferences", form(preferences))
        .route("/portal/leave", form(leave))
        .route("/portal/{*path}", get(enter_or_miss).post(enter_or_miss))
        .method_not_allowed_fallback(refuse_method)
        .layer(from_fn_with_state(dashboard.clone(), with_policy))
        .layer(map_response_with_state(dashboard.clone(), with_headers));
    Router::new()
        .route("/portal", get(|| async { Redirect::permanent("/portal/") }))
        .route("/portal/theme.css", get(stylesheet))
        .route("/portal/logo", get(logo))
        .merge(pages)
}

/// Adds the policy: the operator decides where pages of the portal may be framed.
async fn with_policy(
    State(dashboard): State<Arc<Dashboard>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let policy = dashboard.portal.policy.clone();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// Enters by `/portal/{token}`. Any other URL without a page is not found.
async fn enter_or_miss(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let token = parts.uri.path().strip_prefix("/portal/").unwrap_or_default().to_owned();
    if parts.method == Method::GET && token.starts_with(PREFIX) {
        let mut response = enter(&dashboard, &parts, &token).await;
        let nothing = HeaderValue::from_static("no-referrer");
        response.headers_mut().insert(header::REFERRER_POLICY, nothing);
        return response;
    }
    match Visit::from_request_parts(&mut parts, &dashboard).await {
        Ok(visit) if parts.method == Method::GET => {
            miss(visit.clone()).await.unwrap_or_else(|problem| error::show(&visit, &problem))
        }
        Ok(visit) => error::show(&visit, &Problem::no_page()),
        Err(response) => response,
    }
}

async fn preferences(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let next = form.get("next").filter(|next| Base::Portal.has(next)).unwrap_or("/portal/");
    let mut response = page::see_other(next);
    if let Some(language) = form.get("language").and_then(Language::of_tag) {
        let is_secure = visit.dashboard.is_secure();
        let (name, value) = (cookies::LANGUAGE, language.tag());
        let cookie = cookies::write_for(Base::Portal, name, value, YEAR_SECS, is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    }
    Ok(response)
}

/// Ends the session in this browser.
async fn leave(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let is_secure = visit.dashboard.is_secure();
    let mut response = page::see_other("/portal/");
    let name = cookies::portal_session(is_secure);
    let cookie = cookies::write_for(Base::Portal, name, "", 0, is_secure);
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

async fn stylesheet(State(dashboard): State<Arc<Dashboard>>) -> Response {
    match &dashboard.portal.stylesheet {
        Some((_, css)) => file("text/css; charset=utf-8", css.clone()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn logo(State(dashboard): State<Arc<Dashboard>>) -> Response {
    match &dashboard.portal.brand.logo {
        Some(logo) => file(logo.media_type, logo.content.clone()),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns a file of the operator's. An SVG that is opened directly may do nothing.
fn file(media_type: &'static str, content: Bytes) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ),
    ];
    (headers, content).into_response()
}
