//! What the dashboard needs from the gateway: the API, and who may use it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use gancho_access::{AccessError, Operator, Principal};
use gancho_domain::{AddressBlock, Tenant};
use http::{Request, Response};

/// The gateway, as the dashboard sees it. Pages read and change things only through [`Backend::call`], so
/// the dashboard can do nothing that the API cannot.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Checks the operator token. Guesses from an address are throttled.
    async fn log_in(&self, from: AddressBlock, token: &str) -> Result<Operator, LoginError>;

    /// Finds a tenant by slug or id.
    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError>;

    /// Runs an operation of the API for an authenticated principal, whose rights it checks.
    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes>;

    /// The same for an answer that is read piece by piece, and may have no end.
    async fn stream(&self, principal: Principal, request: Request<Bytes>) -> Response<Body>;
}

/// Why a login failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginError {
    InvalidToken,
    /// Too many invalid tokens came from this address.
    Throttled(Duration),
    Unavailable,
}
