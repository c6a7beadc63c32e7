//! The portal: pages of the dashboard for the people of one tenant, below `/portal`. They enter by a link whose
//! token is exchanged for a session at once, so that it stays neither in the history nor in a referrer.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    middleware::{Next, from_fn_with_state, map_response_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use bytes::Bytes;
use gancho_access::{NewPortalSession, PortalSession, portal::PREFIX};
use gancho_domain::AddressBlock;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::{
    backend::PortalError,
    base::Base,
    brand::{self, Brand},
    cookies,
    dashboard::{Dashboard, PageResult, form, miss, refuse_method, with_headers},
    language::Language,
    page,
    pages::{self, error, show_portal_error},
    params::{Link, Params, segment},
    problem::Problem,
    submission::Submission,
    texts::Texts,
    theme::Theme,
    visit::{Visit, language, unavailable},
};

const YEAR_SECS: u64 = 365 * 24 * 60 * 60;

/// The parameter with which a frame learns whether the browser has kept the session: the token that was used.
pub const ENTERED: &str = "entered";

/// How the portal looks, and where it may be embedded.
#[derive(Debug, Clone, Default)]
pub struct PortalSettings {
    pub brand: Brand,
    /// Origins whose pages may have the portal in a frame, e.g. `https://app.example.com`.
    pub frame_origins: Vec<String>,
}

/// What the pages of the portal share.
pub struct Portal {
    pub brand: Brand,
    pub frame_origins: String,
    policy: HeaderValue,
    stylesheet: Option<(String, Bytes)>,
}

impl Portal {
    pub fn new(settings: PortalSettings) -> Self {
        let PortalSettings { brand, frame_origins } = settings;
        let policy = HeaderValue::from_str(&page::portal_policy(&frame_origins));
        let stylesheet = brand.stylesheet().map(Bytes::from);
        Self {
            policy: policy.unwrap_or(HeaderValue::from_static(page::POLICY)),
            frame_origins: frame_origins.join(" "),
            stylesheet: stylesheet.map(|css| (brand::version(&css), css)),
            brand,
        }
    }

    /// The address of the stylesheet with the color of the brand.
    pub fn stylesheet(&self) -> Option<String> {
        let (version, _) = self.stylesheet.as_ref()?;
        Some(format!("/portal/theme.css?v={version}"))
    }

    pub fn logo(&self) -> Option<String> {
        let logo = self.brand.logo.as_ref()?;
        Some(format!("/portal/logo?v={}", brand::version(&logo.content)))
    }
}

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

/// Pages of the portal may be framed where the operator allows it.
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

/// The session of a request, or the page that says that there is none.
pub async fn session(parts: &Parts, dashboard: &Arc<Dashboard>) -> Result<PortalSession, Response> {
    let cookie = cookies::read(&parts.headers, cookies::portal_session(dashboard.is_secure()));
    let found = match cookie {
        Some(cookie) => dashboard.backend.portal_session(cookie).await,
        None => Ok(None),
    };
    let problem = match found {
        Ok(Some(session)) => return Ok(session),
        Ok(None) => Problem::new(StatusCode::UNAUTHORIZED, "portal_ended", ""),
        Err(error) => unavailable(&error),
    };
    // It was entered a moment ago, in a frame, and the browser did not keep the cookie.
    let params = Params::parse(parts.uri.query().unwrap_or_default());
    if let (None, Some(token)) = (cookie, params.get(ENTERED).filter(|it| it.starts_with(PREFIX))) {
        let problem = Problem::new(StatusCode::UNAUTHORIZED, "portal_blocked", "");
        let again = Link::new(format!("/portal/{}", segment(token)));
        return Err(refuse_with(dashboard, &parts.headers, &problem, Some(again)));
    }
    Err(refuse(dashboard, &parts.headers, &problem))
}

/// An error for someone without a session.
fn refuse(dashboard: &Dashboard, headers: &HeaderMap, problem: &Problem) -> Response {
    refuse_with(dashboard, headers, problem, None)
}

fn refuse_with(
    dashboard: &Dashboard,
    headers: &HeaderMap,
    problem: &Problem,
    way_on: Option<Link>,
) -> Response {
    let (language, now) = (language(headers), dashboard.clock.now());
    let t = Texts { language, now, is_portal: true };
    show_portal_error(t, Theme::of(headers), &dashboard.portal, problem, way_on)
}

/// `/portal/{token}` enters. Anything else that is no page is not found.
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

/// Exchanges the token for a session, and leads to the clean address.
async fn enter(dashboard: &Dashboard, parts: &Parts, token: &str) -> Response {
    let from = parts.extensions.get::<AddressBlock>().copied();
    let from = from.unwrap_or_else(|| std::net::IpAddr::from([0, 0, 0, 0]).into());
    let problem = match dashboard.backend.open_portal(from, token).await {
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
    // The page that embeds the portal knows how it looks itself.
    if let Some(language) = params.get("lang").and_then(Language::of_tag) {
        set(cookies::LANGUAGE, language.tag(), YEAR_SECS);
    }
    if let Some(theme) = params.get("theme").and_then(Theme::named) {
        set(cookies::THEME, theme.name(), YEAR_SECS);
    }
    response
}

/// The page that a link leads to.
pub fn first_page(params: &Params) -> String {
    let page = params.get("page").map(|page| Base::Portal.address(page));
    let page = page.filter(|page| Base::Portal.has(page) && !page.contains(".."));
    page.unwrap_or_else(|| "/portal/".to_owned())
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

/// A file of the operator's. An SVG that is opened by itself may do nothing.
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
