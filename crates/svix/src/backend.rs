//! What this crate needs from the gateway: who is asking, and the gateway's own API.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_access::{AccessError, Principal};
use gancho_domain::Tenant;
use http::{Request, Response, request::Parts};

#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Authenticates a request. Guesses are throttled together with those at the API. A error is the response of
    /// the API, in its own form.
    async fn identify(&self, parts: &Parts) -> Result<Principal, Response<Bytes>>;

    /// Finds a tenant by slug or id.
    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError>;

    /// Runs an operation of the API for an authenticated principal, whose rights it checks.
    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes>;
}
