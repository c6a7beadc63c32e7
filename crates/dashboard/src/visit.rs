//! A request for a page with a session, of the dashboard or of the portal.

use std::sync::{Arc, OnceLock};

use axum::{
    body::Body,
    extract::{FromRequestParts, RawPathParams},
};
use bytes::Bytes;
use gancho_access::{PortalSession, Principal};
use gancho_domain::{AddressBlock, Tenant};
use http::{Method, Request, StatusCode, header, request::Parts};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    backend::RequestGuard,
    base::Base,
    cookies,
    dashboard::Dashboard,
    drafts,
    flashes::{Flash, FlashKind, FlashSlot},
    language::Language,
    page,
    pages::error,
    params::{Link, Params, segment},
    portal_session,
    problem::Problem,
    sentence::Html,
    texts::Texts,
    theme::Theme,
    visitor::Visitor,
    way_back::{again, to_login},
};

#[derive(Clone)]
pub struct Visit(Arc<VisitParts>);

pub struct VisitParts {
    pub dashboard: Arc<Dashboard>,
    pub base: Base,
    pub visitor: Visitor,
    /// The tenant that the pages are limited to: from `?tenant=`, or that of the portal.
    pub tenant: Option<Arc<Tenant>>,
    pub t: Texts,
    pub theme: Theme,
    pub path: String,
    /// The page to load again after an error: this one, or the one that a form was on.
    pub again: Option<String>,
    /// The variable parts of the path.
    names: Vec<(String, String)>,
    pub params: Params,
    /// The address of the request, for the audit log.
    pub address: Option<AddressBlock>,
    /// See [`Visit::once`].
    pub(crate) once_cookie: Option<String>,
    /// What was typed into the form of this page before the session ended.
    pub draft: Option<Params>,
    pub(crate) flash: FlashSlot,
    /// The memory of the form that was sent, until it is answered.
    pub(crate) form_guard: OnceLock<RequestGuard>,
}

impl std::ops::Deref for Visit {
    type Target = VisitParts;

    fn deref(&self) -> &VisitParts {
        &self.0
    }
}

/// Maximum size of an error of the API.
const MAX_PROBLEM: usize = 64 * 1024;

pub type ApiResult<T> = Result<T, Problem>;

impl Visit {
    pub fn principal(&self) -> Principal {
        match (&self.visitor, &self.tenant) {
            (Visitor::Tenant(session), _) => session.principal(),
            (Visitor::Operator(session), Some(tenant)) => {
                Principal::Tenant(session.operator().act_for(tenant.clone()))
            }
            (Visitor::Operator(session), None) => Principal::Operator(session.operator().clone()),
        }
    }

    /// Counts the page among those that are being made for the visitor, until the guard is dropped.
    pub async fn begin(&self) -> ApiResult<RequestGuard> {
        let begun = self.dashboard.backend.begin_request(&self.principal()).await;
        begun.map_err(|response| Problem::of_response(&response))
    }

    pub fn is_portal(&self) -> bool {
        self.base == Base::Portal
    }

    /// Returns the same visit, limited to a tenant.
    pub async fn acting_for(&self, slug: &str) -> ApiResult<Self> {
        if let Visitor::Tenant(session) = &self.visitor {
            let is_own = session.tenant().slug == slug;
            return if is_own { Ok(self.clone()) } else { Err(unknown_tenant()) };
        }
        let found = self.dashboard.backend.tenant(slug).await;
        let tenant = found.map_err(|error| Problem::unavailable(&error))?;
        Ok(Self(Arc::new(VisitParts {
            dashboard: self.dashboard.clone(),
            base: self.base,
            visitor: self.visitor.clone(),
            tenant: Some(tenant.ok_or_else(unknown_tenant)?),
            t: self.t,
            theme: self.theme,
            path: self.path.clone(),
            again: self.again.clone(),
            names: self.names.clone(),
            params: self.params.clone(),
            address: self.address,
            once_cookie: self.once_cookie.clone(),
            draft: self.draft.clone(),
            flash: self.flash.clone(),
            form_guard: self.form_guard.clone(),
        })))
    }

    /// Reads from the API, for the tenant of the page if it has one.
    pub async fn get<T: DeserializeOwned>(&self, link: Link) -> ApiResult<T> {
        parse(&self.call(self.principal(), Method::GET, &link, None).await?)
    }

    /// Reads from the API for all tenants. Not allowed in the portal.
    pub async fn get_as_operator<T: DeserializeOwned>(&self, link: Link) -> ApiResult<T> {
        let operator = self.visitor.operator().ok_or_else(Problem::no_page)?;
        let principal = Principal::Operator(operator.clone());
        parse(&self.call(principal, Method::GET, &link, None).await?)
    }

    /// Changes something through the API. Responses without content are `null`.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        link: Link,
        body: Option<Value>,
    ) -> ApiResult<T> {
        self.send_text(method, link, body.map(|body| body.to_string())).await
    }

    /// As [`Self::send`], with a body of JSON text, which stays as it was typed.
    pub async fn send_text<T: DeserializeOwned>(
        &self,
        method: Method,
        link: Link,
        body: Option<String>,
    ) -> ApiResult<T> {
        let answer = self.call(self.principal(), method, &link, body).await?;
        parse(if answer.is_empty() { b"null" } else { &answer })
    }

    pub async fn post<T: DeserializeOwned>(&self, link: Link, body: Value) -> ApiResult<T> {
        self.send(Method::POST, link, Some(body)).await
    }

    async fn call(
        &self,
        principal: Principal,
        method: Method,
        link: &Link,
        body: Option<String>,
    ) -> ApiResult<Bytes> {
        let is_form = method != Method::GET;
        let mut request = Request::builder().method(method).uri(link.to_string());
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Bytes::new, Bytes::from);
        let mut request = request.body(body).map_err(Problem::internal)?;
        if let Some(address) = self.address {
            request.extensions_mut().insert(address);
        }
        let response = self.dashboard.backend.call(principal, request).await;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let problem = Problem::of_response(&response);
        let problem = if self.is_portal() { problem.for_tenants() } else { problem };
        // An invalid filter is marked by its name in the message.
        Err(if is_form { problem.with_labels(&self.t) } else { problem })
    }

    /// Reads a response of the API piece by piece, for the tenant of the page if it has one.
    pub async fn stream(&self, link: Link) -> ApiResult<Body> {
        let request = Request::get(link.to_string()).body(Bytes::new());
        let request = request.map_err(Problem::internal)?;
        let response = self.dashboard.backend.stream(self.principal(), request).await;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), MAX_PROBLEM).await;
        let problem = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
        Err(problem.unwrap_or_else(|| Problem::new(status, "", "")))
    }

    /// Returns a variable part of the path.
    pub fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns it as one segment of a URL.
    pub fn segment(&self, name: &str) -> String {
        segment(self.name(name))
    }

    /// Returns a link to a page that keeps the tenant of this one.
    pub fn link(&self, path: impl AsRef<str>) -> Link {
        let tenant = self.tenant.as_deref().filter(|_| !self.is_portal());
        self.page(path).maybe("tenant", tenant.map(|tenant| &*tenant.slug))
    }

    /// Returns a link to a page.
    pub fn page(&self, path: impl AsRef<str>) -> Link {
        Link::new(self.base.address(path.as_ref()))
    }

    /// Responds to a change: the browser loads that page next, which shows the message.
    pub fn done(&self, to: &Link, message: impl Into<Html>) -> axum::response::Response {
        self.leave(FlashKind::Done, message);
        page::see_other(&to.to_string())
    }

    /// Leaves a message for this page, or else for the next.
    pub fn leave(&self, kind: FlashKind, message: impl Into<Html>) {
        self.flash.leave(Flash { kind, html: message.into().into_string() });
    }

    /// Returns the message to show on this page.
    pub fn take_flash(&self) -> Option<Flash> {
        self.flash.take(self.visitor.csrf(), self.t.now)
    }

    /// Returns the response with the cookie that stores the message for the next page, or deletes the one
    /// that was shown.
    pub fn with_flash(&self, mut response: axum::response::Response) -> axum::response::Response {
        let (secret, is_secure) = (self.visitor.csrf(), self.dashboard.is_secure());
        let cookie = self.flash.cookie(self.base, secret, self.t.now, is_secure);
        response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        response
    }

    /// Returns what was typed into the form of this page before the session ended. The page says so.
    pub fn take_draft(&self) -> Option<&Params> {
        let draft = self.draft.as_ref()?;
        self.leave(FlashKind::Warning, self.t.say("form.kept"));
        Some(draft)
    }

    /// Refuses forms to users who may not use them. The API checks this as well.
    pub fn check_may_configure(&self) -> ApiResult<()> {
        if self.visitor.may_configure() {
            return Ok(());
        }
        Err(Problem::new(StatusCode::FORBIDDEN, "missing_role", ""))
    }

    /// Whether the session is still valid, for what continues after the page is sent.
    pub async fn has_session(&self) -> bool {
        let dashboard = &self.dashboard;
        match &self.visitor {
            Visitor::Operator(session) => dashboard.backend.is_session_open(session).await,
            Visitor::Tenant(session) => dashboard.backend.is_portal_session_open(session).await,
        }
    }
}

fn parse<T: DeserializeOwned>(answer: &[u8]) -> ApiResult<T> {
    serde_json::from_slice(answer).map_err(Problem::internal)
}

impl FromRequestParts<Arc<Dashboard>> for Visit {
    type Rejection = axum::response::Response;

    async fn from_request_parts(
        parts: &mut Parts,
        dashboard: &Arc<Dashboard>,
    ) -> Result<Self, Self::Rejection> {
        if Base::of(parts.uri.path()) == Base::Portal {
            let session = portal_session::session(parts, dashboard).await?;
            return Ok(Self::of_tenant(parts, dashboard, session).await);
        }
        let now = dashboard.clock.now();
        let cookie = dashboard.session_cookie(&parts.headers);
        let had_session = cookie.is_some();
        let session = match cookie {
            Some(cookie) => dashboard.backend.session(cookie).await,
            None => Ok(None),
        };
        let session = match session {
            Ok(session) => session.ok_or_else(|| to_login(parts, had_session))?,
            Err(error) => {
                let t = Texts { language: Language::of(&parts.headers), now, is_portal: false };
                let problem = Problem::unavailable(&error);
                return Err(error::show_stranger(t, Theme::of(&parts.headers), &problem));
            }
        };
        let params = Params::parse(parts.uri.query().unwrap_or_default());
        let mut visit = VisitParts {
            dashboard: dashboard.clone(),
            base: Base::Dashboard,
            visitor: Visitor::Operator(session),
            tenant: None,
            t: Texts { language: Language::of(&parts.headers), now, is_portal: false },
            theme: Theme::of(&parts.headers),
            path: parts.uri.path().to_owned(),
            again: again(parts),
            names: names(parts, dashboard).await,
            params,
            address: parts.extensions.get::<AddressBlock>().copied(),
            once_cookie: once_cookie(parts),
            draft: drafts::of_page(dashboard, &parts.headers, parts.uri.path())
                .filter(|_| parts.method == Method::GET),
            flash: FlashSlot::of(&parts.headers),
            form_guard: OnceLock::new(),
        };
        if let Some(name) = visit.params.get("tenant") {
            match dashboard.backend.tenant(name).await {
                Ok(Some(tenant)) => visit.tenant = Some(tenant),
                Ok(None) => {
                    return Err(error::show(&Self(Arc::new(visit)), &unknown_tenant()));
                }
                Err(error) => {
                    let problem = Problem::unavailable(&error);
                    return Err(error::show(&Self(Arc::new(visit)), &problem));
                }
            }
        }
        Ok(Self(Arc::new(visit)))
    }
}

impl Visit {
    /// Creates a visit of the portal. It is limited to the tenant of the session, whatever its URL names.
    async fn of_tenant(
        parts: &mut Parts,
        dashboard: &Arc<Dashboard>,
        session: PortalSession,
    ) -> Self {
        let (language, now) = (Language::of(&parts.headers), dashboard.clock.now());
        Self(Arc::new(VisitParts {
            dashboard: dashboard.clone(),
            base: Base::Portal,
            tenant: Some(session.tenant().clone()),
            visitor: Visitor::Tenant(session),
            t: Texts { language, now, is_portal: true },
            theme: Theme::of(&parts.headers),
            path: parts.uri.path().to_owned(),
            again: again(parts),
            names: names(parts, dashboard).await,
            params: Params::parse(parts.uri.query().unwrap_or_default()),
            address: parts.extensions.get::<AddressBlock>().copied(),
            once_cookie: once_cookie(parts),
            draft: None,
            flash: FlashSlot::of(&parts.headers),
            form_guard: OnceLock::new(),
        }))
    }
}

fn unknown_tenant() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "unknown_tenant", "")
}

fn once_cookie(parts: &Parts) -> Option<String> {
    cookies::read(&parts.headers, cookies::ONCE).map(ToOwned::to_owned)
}

async fn names(parts: &mut Parts, dashboard: &Arc<Dashboard>) -> Vec<(String, String)> {
    let params = RawPathParams::from_request_parts(parts, dashboard).await;
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    params.map(|params| params.iter().map(owned).collect()).unwrap_or_default()
}
