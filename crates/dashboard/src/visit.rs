//! A request for a page by someone who is logged in.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{FromRequestParts, RawPathParams},
};
use bytes::Bytes;
use gancho_access::{AccessError, Principal};
use gancho_domain::Tenant;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header, request::Parts};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cookies,
    dashboard::Dashboard,
    language::Language,
    page,
    pages::error,
    params::{Link, Params, is_local_page, segment},
    problem::Problem,
    sentence::Html,
    sessions::{Flash, FlashKind, Session},
    texts::Texts,
    theme::Theme,
};

#[derive(Clone)]
pub struct Visit(Arc<VisitParts>);

pub struct VisitParts {
    pub dashboard: Arc<Dashboard>,
    pub session: Session,
    /// The tenant that the pages are limited to, from `?tenant=`.
    pub tenant: Option<Arc<Tenant>>,
    pub t: Texts,
    pub theme: Theme,
    pub path: String,
    /// The variable parts of the path.
    names: Vec<(String, String)>,
    pub params: Params,
}

impl std::ops::Deref for Visit {
    type Target = VisitParts;

    fn deref(&self) -> &VisitParts {
        &self.0
    }
}

pub type ApiResult<T> = Result<T, Problem>;

impl Visit {
    fn principal(&self) -> Principal {
        match &self.tenant {
            Some(tenant) => Principal::Tenant(self.session.operator.act_for(tenant.clone())),
            None => Principal::Operator(self.session.operator.clone()),
        }
    }

    /// The same visit, limited to a tenant.
    pub async fn acting_for(&self, slug: &str) -> ApiResult<Self> {
        let found = self.dashboard.backend.tenant(slug).await;
        let tenant = found.map_err(|error| unavailable(&error))?;
        Ok(Self(Arc::new(VisitParts {
            dashboard: self.dashboard.clone(),
            session: self.session.clone(),
            tenant: Some(tenant.ok_or_else(unknown_tenant)?),
            t: self.t,
            theme: self.theme,
            path: self.path.clone(),
            names: self.names.clone(),
            params: self.params.clone(),
        })))
    }

    /// Reads from the API, for the tenant of the page if it has one.
    pub async fn get<T: DeserializeOwned>(&self, link: Link) -> ApiResult<T> {
        parse(&self.call(self.principal(), Method::GET, &link, None).await?)
    }

    /// Reads from the API for all tenants.
    pub async fn get_as_operator<T: DeserializeOwned>(&self, link: Link) -> ApiResult<T> {
        let principal = Principal::Operator(self.session.operator.clone());
        parse(&self.call(principal, Method::GET, &link, None).await?)
    }

    /// Changes something through the API. Answers without content are `null`.
    pub async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        link: Link,
        body: Option<Value>,
    ) -> ApiResult<T> {
        if !self.session.role.may_change() {
            return Err(Problem::new(StatusCode::FORBIDDEN, "read_only", ""));
        }
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
        body: Option<Value>,
    ) -> ApiResult<Bytes> {
        let mut request = Request::builder().method(method).uri(link.to_string());
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = request.body(body).map_err(Problem::internal)?;
        let response = self.dashboard.backend.call(principal, request).await;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let problem = serde_json::from_slice(response.body());
        Err(problem.unwrap_or_else(|_| Problem::new(response.status(), "", "")))
    }

    /// Reads an answer of the API piece by piece, for the tenant of the page if it has one.
    pub async fn stream(&self, link: Link) -> ApiResult<Body> {
        let request = Request::get(link.to_string()).body(Bytes::new());
        let request = request.map_err(Problem::internal)?;
        let response = self.dashboard.backend.stream(self.principal(), request).await;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        Err(Problem::new(response.status(), "", ""))
    }

    /// A variable part of the path.
    pub fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The same, as one segment of an address.
    pub fn segment(&self, name: &str) -> String {
        segment(self.name(name))
    }

    /// An address of the dashboard that keeps the tenant of this page.
    pub fn link(&self, path: impl Into<String>) -> Link {
        Link::new(path).maybe("tenant", self.tenant.as_deref().map(|tenant| &*tenant.slug))
    }

    /// Answers a change: the browser loads that page next, which shows the message.
    pub fn done(&self, to: &Link, message: impl Into<Html>) -> axum::response::Response {
        self.leave(FlashKind::Done, message);
        page::see_other(&to.to_string())
    }

    pub fn leave(&self, kind: FlashKind, message: impl Into<Html>) {
        let flash = Flash { kind, html: message.into().into_string() };
        self.dashboard.sessions.leave_flash(&self.session, flash);
    }
}

fn parse<T: DeserializeOwned>(answer: &[u8]) -> ApiResult<T> {
    serde_json::from_slice(answer).map_err(Problem::internal)
}

/// The language of a page: the one that was chosen, or the first that the browser accepts.
pub fn language(headers: &HeaderMap) -> Language {
    let chosen = cookies::read(headers, cookies::LANGUAGE).and_then(Language::of_tag);
    let accepted = || headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    chosen.unwrap_or_else(|| Language::accepted(accepted().unwrap_or_default()))
}

impl FromRequestParts<Arc<Dashboard>> for Visit {
    type Rejection = axum::response::Response;

    async fn from_request_parts(
        parts: &mut Parts,
        dashboard: &Arc<Dashboard>,
    ) -> Result<Self, Self::Rejection> {
        let now = dashboard.clock.now();
        let id = cookies::read(&parts.headers, cookies::SESSION);
        let session = id.and_then(|id| dashboard.sessions.find(id, now));
        let session = session.ok_or_else(|| to_login(parts))?;
        let params = Params::parse(parts.uri.query().unwrap_or_default());
        let mut visit = VisitParts {
            dashboard: dashboard.clone(),
            session,
            tenant: None,
            t: Texts { language: language(&parts.headers), now },
            theme: Theme::of(&parts.headers),
            path: parts.uri.path().to_owned(),
            names: names(parts, dashboard).await,
            params,
        };
        if let Some(name) = visit.params.get("tenant") {
            match dashboard.backend.tenant(name).await {
                Ok(Some(tenant)) => visit.tenant = Some(tenant),
                Ok(None) => {
                    return Err(error::show(&Self(Arc::new(visit)), &unknown_tenant()));
                }
                Err(error) => {
                    let problem = unavailable(&error);
                    return Err(error::show(&Self(Arc::new(visit)), &problem));
                }
            }
        }
        Ok(Self(Arc::new(visit)))
    }
}

fn unknown_tenant() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "unknown_tenant", "")
}

fn unavailable(error: &AccessError) -> Problem {
    tracing::warn!(%error, "page unavailable");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "")
}

/// Someone who is not logged in is sent to the login, and from there back to the page.
fn to_login(parts: &Parts) -> axum::response::Response {
    let page = parts.uri.path_and_query().map_or("", |page| page.as_str());
    let next = if parts.method == Method::GET && is_local_page(page) { page } else { "" };
    let mut response = page::see_other(&Link::new("/ui/login").with("next", next).to_string());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn names(parts: &mut Parts, dashboard: &Arc<Dashboard>) -> Vec<(String, String)> {
    let params = RawPathParams::from_request_parts(parts, dashboard).await;
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    params.map(|params| params.iter().map(owned).collect()).unwrap_or_default()
}
