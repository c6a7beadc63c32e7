//! Connects the Svix-compatible API to the API in this process.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_access::{AccessError, Principal};
use gancho_api::{Api, InProcessApi};
use gancho_domain::Tenant;
use gancho_svix::{Backend, Setup};
use http::{Request, Response, request::Parts};

use crate::api_backend::ApiBackend;

/// Room for what surrounds the payload of a message.
const ENVELOPE_BYTES: usize = 4 * 1024;

/// Everything below `/api/v1`.
pub fn router(api: &Api) -> axum::Router {
    gancho_svix::router(Setup {
        backend: Arc::new(ApiBackend(InProcessApi::new(api))),
        clock: api.clock.clone(),
        ids: api.ids.clone(),
        body_bytes: api.settings.body_bytes + ENVELOPE_BYTES,
        body_deadline: api.settings.body_deadline,
    })
}

#[async_trait]
impl Backend for ApiBackend {
    async fn identify(&self, parts: &Parts) -> Result<Principal, Response<Bytes>> {
        self.0.identify(parts).await
    }

    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError> {
        Ok(self.0.api().access.tenants.find(name).await?)
    }

    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        self.0.call(principal, request).await
    }
}
