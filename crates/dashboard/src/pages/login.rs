//! `/ui/login`, `/ui/logout` and `/ui/preferences`.

use std::{borrow::Borrow, sync::Arc};

use askama::Template;
use axum::{
    extract::{FromRequest, FromRequestParts, Request, State},
    response::{IntoResponse, Response},
};
use gancho_access::operator_sessions::MAX_AGE;
use gancho_domain::AddressBlock;
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};

use super::error;
use crate::{
    backend::LoginError,
    base::Base,
    cookies,
    dashboard::Dashboard,
    form_body::{self, FormBody},
    handlers::PageResult,
    language::Language,
    page,
    params::{Link, Params},
    problem::Problem,
    sentence::Sentence,
    submission::{Submission, check_origin},
    texts::Texts,
    theme::Theme,
    visit::Visit,
    visitor::Visitor,
};

const YEAR_SECS: u64 = 365 * 24 * 60 * 60;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    t: Texts,
    theme: Theme,
    host: String,
    message: Option<Sentence>,
    action: Link,
    next: String,
    /// The typed name.
    name: String,
    is_changed: bool,
    /// Set if a session ended before: with a page, or with a form that was not sent.
    ended: Option<Sentence>,
    ended_by: String,
}

impl LoginPage {
    fn in_language(&self, language: impl Borrow<Language>) -> Link {
        let language = *language.borrow();
        let link = Link::new("/ui/login").with("lang", language.tag());
        link.with("next", &self.next).with("ended", &self.ended_by)
    }
}

pub async fn form(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    if Visit::from_request_parts(&mut parts, &dashboard).await.is_ok() {
        return page::see_other(next(&params));
    }
    let chosen = params.get("lang").and_then(Language::of_tag);
    let response = show(&dashboard, &parts, &params, chosen, StatusCode::OK, None, "");
    match chosen {
        Some(language) => with_cookie(
            response,
            cookies::write(cookies::LANGUAGE, language.tag(), YEAR_SECS, dashboard.is_secure()),
        ),
        None => response,
    }
}

/// Checks the token. Each failure has the same message, so that it reveals nothing about the token.
pub async fn submit(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    let texts = texts(&dashboard, &parts.headers, None);
    let form = match check_origin(&parts.headers, &parts.uri) {
        Ok(()) => form_body::read(&dashboard, None, &parts, body).await,
        Err(problem) => Err(problem),
    };
    let FormBody { form, guard: _guard } = match form {
        Ok(read) => read,
        Err(problem) => return error::show_stranger(texts, Theme::of(&parts.headers), &problem),
    };
    // Without a name it is the operator token.
    let name = form.text("name");
    let refuse =
        |status, message| show(&dashboard, &parts, &params, None, status, Some(message), name);
    let login = if name.is_empty() {
        dashboard.backend.log_in(&parts, form.text("token")).await
    } else {
        // A password is not trimmed, because spaces are part of it.
        let password = form.get("token").unwrap_or_default();
        dashboard.backend.log_in_user(&parts, name, password).await
    };
    let login = match login {
        Ok(login) => login,
        Err(LoginError::InvalidToken) => {
            return refuse(StatusCode::FORBIDDEN, texts.say("login.failed"));
        }
        Err(LoginError::Throttled(wait)) => {
            let message = texts.say("login.failed");
            let seconds = wait.as_secs() + 1;
            let mut response = refuse(StatusCode::TOO_MANY_REQUESTS, message);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return response;
        }
        Err(LoginError::Unavailable) => {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, texts.say("login.unavailable"));
        }
    };
    if let Some(address) = parts.extensions.get::<AddressBlock>() {
        tracing::info!(%address, "signed in to the dashboard");
    }
    // The previous session is over in this browser, and nobody else would end it.
    if let Some(cookie) = dashboard.session_cookie(&parts.headers)
        && let Ok(Some(session)) = dashboard.backend.session(cookie).await
        && let Err(error) = dashboard.backend.end_session(&session).await
    {
        tracing::warn!(%error, "page unavailable");
    }
    let id = match dashboard.backend.begin_session(&login).await {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(%error, "no session could be started");
            return refuse(StatusCode::SERVICE_UNAVAILABLE, texts.say("login.unavailable"));
        }
    };
    with_cookie(page::see_other(next(&params)), session_cookie(&dashboard, &id))
}

pub fn session_cookie(dashboard: &Dashboard, value: &str) -> Option<HeaderValue> {
    let is_secure = dashboard.is_secure();
    cookies::write(cookies::session(is_secure), value, MAX_AGE.as_secs(), is_secure)
}

/// Signs out. While the store is unavailable, at least the browser forgets the session, and the page says so.
pub async fn log_out(State(dashboard): State<Arc<Dashboard>>, request: Request) -> Response {
    let forget = session_cookie(&dashboard, "");
    let headers = request.headers().clone();
    let is_own = check_origin(&headers, request.uri()).is_ok();
    let ended = match Submission::from_request(request, &dashboard).await {
        Ok(Submission { visit, .. }) => match &visit.visitor {
            Visitor::Operator(session) => dashboard.backend.end_session(session).await.is_ok(),
            Visitor::Tenant(_) => true,
        },
        Err(answer) if is_own && answer.status() == StatusCode::SERVICE_UNAVAILABLE => false,
        Err(answer) => return answer,
    };
    if ended {
        return with_cookie(page::see_other("/ui/login"), forget);
    }
    let texts = texts(&dashboard, &headers, None);
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "session_not_ended", "");
    with_cookie(error::show_stranger(texts, Theme::of(&headers), &problem), forget)
}

pub async fn preferences(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let response = page::see_other(next(&form));
    let Some(language) = form.get("language").and_then(Language::of_tag) else {
        return Ok(response);
    };
    let is_secure = visit.dashboard.is_secure();
    let cookie = cookies::write(cookies::LANGUAGE, language.tag(), YEAR_SECS, is_secure);
    Ok(with_cookie(response, cookie))
}

/// Returns the page to load next: one of the dashboard, never another site.
fn next(params: &Params) -> &str {
    params.get("next").filter(|next| Base::Dashboard.has(next)).unwrap_or("/ui/")
}

fn texts(dashboard: &Dashboard, headers: &HeaderMap, chosen: Option<Language>) -> Texts {
    let language = chosen.unwrap_or_else(|| Language::of(headers));
    Texts { language, now: dashboard.clock.now(), is_portal: false }
}

fn show(
    dashboard: &Dashboard,
    parts: &Parts,
    params: &Params,
    chosen: Option<Language>,
    status: StatusCode,
    message: Option<Sentence>,
    name: &str,
) -> Response {
    let host = dashboard.public_url.split_once("://").map_or("", |(_, host)| host);
    let next = params.get("next").filter(|next| Base::Dashboard.has(next)).unwrap_or_default();
    let t = texts(dashboard, &parts.headers, chosen);
    let (ended_by, ended) = match params.get("ended") {
        Some("form") => ("form", Some(t.say("login.ended_form"))),
        Some("lost") => ("lost", Some(t.say("login.ended_lost"))),
        Some("link") => ("link", Some(t.say("login.ended_link"))),
        Some(_) => ("page", Some(t.say("login.ended"))),
        None => ("", None),
    };
    let template = LoginPage {
        t,
        ended: ended.filter(|_| message.is_none()),
        ended_by: ended_by.to_owned(),
        theme: Theme::of(&parts.headers),
        host: host.to_owned(),
        message,
        action: Link::new("/ui/login").with("next", next),
        next: next.to_owned(),
        name: name.to_owned(),
        is_changed: params.has("changed"),
    };
    page::show(status, &template).into_response()
}

pub fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
