//! Connects the dashboard to the API in this process.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use gancho_access::{AccessError, Operator, Principal};
use gancho_api::{Api, InProcessApi, in_process};
use gancho_dashboard::{Backend, LoginError, LoginLinks, Setup};
use gancho_domain::{AddressBlock, Tenant};
use http::{Request, Response};

struct ApiBackend(InProcessApi);

/// The pages of the dashboard.
pub fn router(api: &Api, login_links: Arc<LoginLinks>) -> axum::Router {
    gancho_dashboard::router(Setup {
        backend: Arc::new(ApiBackend(InProcessApi::new(api))),
        clock: api.clock.clone(),
        public_url: api.settings.public_url.clone(),
        login_links,
    })
}

#[async_trait]
impl Backend for ApiBackend {
    async fn log_in(&self, from: AddressBlock, token: &str) -> Result<Operator, LoginError> {
        match self.0.log_in(from, token).await {
            Ok(Principal::Operator(operator)) => Ok(operator),
            Err(in_process::LoginError::Throttled(error)) => {
                Err(LoginError::Throttled(error.retry_after))
            }
            Err(in_process::LoginError::Access(AccessError::Store(_))) => {
                Err(LoginError::Unavailable)
            }
            // A key of a tenant is a valid credential, but not for the dashboard.
            Ok(Principal::Tenant(_)) | Err(in_process::LoginError::Access(_)) => {
                Err(LoginError::InvalidToken)
            }
        }
    }

    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError> {
        Ok(self.0.api().access.tenants.find(name).await?)
    }

    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        self.0.call(principal, request).await
    }

    async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body> {
        self.0.stream(principal, request).await
    }
}
