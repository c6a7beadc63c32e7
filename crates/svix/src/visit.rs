//! A request of an authenticated caller, with access to the gateway's own API.

use std::sync::Arc;

use bytes::Bytes;
use gancho_access::Principal;
pub use gancho_domain::path_segment as segment;
use gancho_domain::{AddressBlock, Tenant};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    backend::RequestGuard,
    fields::Fields,
    query::Query,
    server::SvixApi,
    svix_error::{Names, SvixError},
    uid,
};

#[derive(Clone)]
pub struct Visit {
    pub svix: Arc<SvixApi>,
    pub caller: Principal,
    pub path: Vec<(&'static str, String)>,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub address: Option<AddressBlock>,
    /// Held until the request is answered.
    pub guard: RequestGuard,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub body: Bytes,
}

impl Reply {
    pub fn of<T: Serialize>(status: StatusCode, body: &T) -> Result<Self, SvixError> {
        let body = serde_json::to_vec(body).map_err(|_| SvixError::internal())?;
        Ok(Self { status, body: body.into() })
    }

    pub fn ok<T: Serialize>(body: &T) -> Result<Self, SvixError> {
        Self::of(StatusCode::OK, body)
    }

    pub fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: Bytes::new() }
    }
}

/// An application, and the principal that acts for it.
#[derive(Clone)]
pub struct AppContext {
    pub tenant: Arc<Tenant>,
    pub principal: Principal,
}

impl Visit {
    pub fn param(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    pub fn fields(&self) -> Result<Fields, SvixError> {
        Fields::read(&self.body)
    }

    pub fn query(&self) -> Query {
        Query::read(self.query.as_deref())
    }

    /// Checks that the request has no parameters.
    pub fn no_query(&self) -> Result<(), SvixError> {
        self.query().finish()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the application in the path. One of another tenant is reported like one that does not exist.
    pub async fn app(&self) -> Result<AppContext, SvixError> {
        self.find_app(self.param("app_id"))
            .await?
            .ok_or_else(|| SvixError::not_found("application"))
    }

    /// Returns the application with this id or uid, if the caller may act for it.
    pub async fn find_app(&self, name: &str) -> Result<Option<AppContext>, SvixError> {
        let slug = uid::slug_of(name);
        match &self.caller {
            Principal::Tenant(principal) => {
                let own = principal.tenant().clone();
                let is_own = own.id.to_string() == name
                    || slug.as_deref() == Some(&*own.slug)
                    || uid::uid_of(&own.slug).as_deref() == Some(name)
                    || own.slug == name;
                let app = AppContext { tenant: own, principal: self.caller.clone() };
                Ok(is_own.then_some(app))
            }
            Principal::Operator(operator) => {
                let mut found = None;
                // An id, the slug of a uid, or a slug that was chosen elsewhere.
                for candidate in [Some(name), slug.as_deref()].into_iter().flatten().rev() {
                    let tenant = self.svix.backend.tenant(candidate).await;
                    found = tenant.map_err(|_| unavailable())?;
                    if found.is_some() {
                        break;
                    }
                }
                // The operator's own tenant is not an application.
                let found = found.filter(|tenant| !tenant.is_operators());
                Ok(found.map(|tenant| {
                    let principal = Principal::Tenant(operator.act_for(tenant.clone()));
                    AppContext { tenant, principal }
                }))
            }
        }
    }

    /// Prepares a request to the API for the application.
    pub fn call<'a>(
        &'a self,
        app: &AppContext,
        method: Method,
        path: impl Into<String>,
    ) -> GatewayCall<'a> {
        self.call_as(app.principal.clone(), method, path)
    }

    /// Prepares a request for the caller itself, who must be the operator for most things that do not belong
    /// to one application.
    pub fn call_as(
        &self,
        principal: Principal,
        method: Method,
        path: impl Into<String>,
    ) -> GatewayCall<'_> {
        let path = path.into();
        GatewayCall {
            visit: self,
            principal,
            method,
            path,
            body: Bytes::new(),
            key: None,
            names: &[],
        }
    }
}

pub fn unavailable() -> SvixError {
    let detail = "the store cannot be reached; retry";
    SvixError::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", detail)
}

/// A request to the gateway's own API.
pub struct GatewayCall<'a> {
    visit: &'a Visit,
    principal: Principal,
    method: Method,
    path: String,
    body: Bytes,
    key: Option<HeaderValue>,
    names: Names,
}

impl GatewayCall<'_> {
    #[must_use]
    pub fn query<V: AsRef<str>>(mut self, pairs: &[(&str, V)]) -> Self {
        if !pairs.is_empty() {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in pairs {
                query.append_pair(name, value.as_ref());
            }
            self.path = format!("{}?{}", self.path, query.finish());
        }
        self
    }

    pub fn json<T: Serialize>(mut self, body: &T) -> Result<Self, SvixError> {
        self.body = serde_json::to_vec(body).map_err(|_| SvixError::internal())?.into();
        Ok(self)
    }

    #[must_use]
    pub fn key(mut self, key: Option<HeaderValue>) -> Self {
        self.key = key;
        self
    }

    /// Sets Svix's names for the fields.
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    pub async fn run<T: DeserializeOwned>(self) -> Result<T, SvixError> {
        let (_, answer) = self.run_with_headers().await?;
        Ok(answer)
    }

    /// Sends a request whose response has no body.
    pub async fn done(self) -> Result<(), SvixError> {
        let names = self.names;
        let response = self.send().await?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(SvixError::of_problem(&response, names))
    }

    pub async fn run_with_headers<T: DeserializeOwned>(self) -> Result<(HeaderMap, T), SvixError> {
        let names = self.names;
        let response = self.send().await?;
        if !response.status().is_success() {
            return Err(SvixError::of_problem(&response, names));
        }
        let answer = serde_json::from_slice(response.body()).map_err(|_| SvixError::internal())?;
        Ok((response.into_parts().0.headers, answer))
    }

    async fn send(self) -> Result<http::Response<Bytes>, SvixError> {
        let mut request = Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() =
            self.path.parse().map_err(|_| SvixError::not_found("an object with this id"))?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for name in [X_REQUEST_ID, TRACEPARENT] {
            if let Some(value) = self.visit.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        if let Some(key) = self.key {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if let Some(address) = self.visit.address {
            request.extensions_mut().insert(address);
        }
        Ok(self.visit.svix.backend.call(self.principal, request).await)
    }
}

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
