//! Sessions of the portal. Users enter by a link, whose token is exchanged for a session at once, so that it
//! stays neither in the history nor in a referrer.

use std::sync::Arc;

use axum::response::Response;
use gancho_access::{NewPortalSession, PortalSession, portal::PREFIX};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};

use crate::{
    backend::PortalError,
    base::Base,
    cookies,
    dashboard::Dashboard,
    language::Language,
    page,
    pages::portal_error,
    params::{Link, Params, segment},
    problem::Problem,
    texts::Texts,
    theme::Theme,
};

pub const YEAR_SECS: u64 = 365 * 24 * 60 * 60;

/// The parameter by which a frame finds out whether the browser has stored the session: the token that was
/// used.
pub const ENTERED: &str = "entered";

/// Returns the session of a request, or the page that says that there is none.
pub async fn session(parts: &Parts, dashboard: &Arc<Dashboard>) -> Result<PortalSession, Response> {
    let cookie = cookies::read(&parts.headers, cookies::portal_session(dashboard.is_secure()));
    let found = match cookie {
        Some(cookie) => dashboard.backend.portal_session(cookie).await,
        None => Ok(None),
    };
    let problem = match found {
        Ok(Some(session)) => return Ok(session),
        Ok(None) => Problem::new(StatusCode::UNAUTHORIZED, "portal_ended", ""),
        Err(error) => Problem::unavailable(&error),
    };
    // It was entered a moment ago, in a frame, and the browser did not store the cookie.
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    if let (None, Some(token)) = (cookie, params.get(ENTERED).filter(|it| it.starts_with(PREFIX))) {
        let problem = Problem::new(StatusCode::UNAUTHORIZED, "portal_blocked", "");
        let again = Link::new(format!("/portal/{}", segment(token)));
        return Err(refuse_with(dashboard, &parts.headers, &problem, Some(again)));
    }
    Err(refuse(dashboard, &parts.headers, &problem))
}

/// Shows an error to someone without a session.
fn refuse(dashboard: &Dashboard, headers: &HeaderMap, problem: &Problem) -> Response {
    refuse_with(dashboard, headers, problem, None)
}

fn refuse_with(
    dashboard: &Dashboard,
    headers: &HeaderMap,
    problem: &Problem,
    way_on: Option<Link>,
) -> Response {
    let (language, now) = (Language::of(headers), dashboard.clock.now());
    let t = Texts { language, now, is_portal: true };
    portal_error::show(t, Theme::of(headers), &dashboard.portal, problem, way_on)
}

/// Exchanges the token for a session, and redirects to the clean URL.
pub async fn enter(dashboard: &Dashboard, parts: &Parts, token: &str) -> Response {
    let problem = match dashboard.backend.open_portal(parts, token).await {
        Ok(session) => return begin(dashboard, parts, &session, token),
        Err(PortalError::Expired) => Problem::new(StatusCode::GONE, "portal_expired", ""),
        Err(PortalError::Invalid) => Problem::new(StatusCode::NOT_FOUND, "portal_invalid", ""),
        Err(PortalError::Unavailable) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "")
        }
        Err(PortalError::Throttled(wait)) => {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "portal_invalid", "");
            let mut response = refuse(dashboard, &parts.headers, &problem);
            let seconds = HeaderValue::from(wait.as_secs() + 1);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
            return response;
        }
    };
    refuse(dashboard, &parts.headers, &problem)
}

fn begin(
    dashboard: &Dashboard,
    parts: &Parts,
    session: &NewPortalSession,
    token: &str,
) -> Response {
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    let page = first_page(&params);
    let is_framed = parts.headers.get("sec-fetch-dest").is_some_and(|it| it == "iframe");
    let mut response = if is_framed {
        let start = Link::new("/portal/").with(ENTERED, token).maybe("page", params.get("page"));
        page::see_other(&start.to_string())
    } else {
        page::see_other(&page)
    };
    let is_secure = dashboard.is_secure();
    let mut set = |name, value: &str, max_age| {
        let cookie = cookies::write_for(Base::Portal, name, value, max_age, is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    };
    let lifetime = session.until.since(dashboard.clock.now()).as_secs().max(1);
    set(cookies::portal_session(is_secure), &session.cookie, lifetime);
    // The page that embeds the portal knows its own language and theme.
    if let Some(language) = params.get("lang").and_then(Language::of_tag) {
        set(cookies::LANGUAGE, language.tag(), YEAR_SECS);
    }
    if let Some(theme) = params.get("theme").and_then(Theme::named) {
        set(cookies::THEME, theme.name(), YEAR_SECS);
    }
    response
}

/// Returns the page that a link leads to.
pub fn first_page(params: &Params) -> String {
    let page = params.get("page").map(|page| Base::Portal.address(page));
    let page = page.filter(|page| Base::Portal.has(page) && !page.contains(".."));
    page.unwrap_or_else(|| "/portal/".to_owned())
}
