//! What this crate needs from the gateway: authentication, the gateway's own API, and a place for records of
//! requests that all nodes share.

use std::{any::Any, sync::Arc};

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use gancho_access::{AccessError, Principal};
use gancho_domain::{Tenant, TenantId, Time};
use http::{Request, Response, request::Parts};

/// What a request holds of the gateway's memory and connections until it is answered.
pub type RequestGuard = Arc<dyn Any + Send + Sync>;

#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Authenticates a request. Guesses are throttled together with those at the API. An error is the
    /// response of the API, in its own form.
    async fn identify(&self, parts: &Parts) -> Result<Principal, Response<Bytes>>;

    /// Reads the body of a request within the limits of the API, and counts the request among those of the
    /// principal that are being answered, until the guard is dropped. An error is the response of the API.
    async fn begin_request(
        &self,
        principal: &Principal,
        parts: &Parts,
        body: Body,
        max: usize,
    ) -> Result<(Bytes, RequestGuard), Response<Bytes>>;

    /// Finds a tenant by slug or id.
    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError>;

    /// Runs an operation of the API for an authenticated principal, and checks its rights.
    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes>;

    /// Returns the record of a request with an idempotency key.
    async fn record(&self, key: &RecordKey) -> Result<Option<Record>, RecordError>;

    /// Writes the record if the existing one has this version; `None` if there must be none. Returns the new
    /// version, or `None` if nothing was written. It may be removed after `until`.
    async fn put_record(
        &self,
        key: &RecordKey,
        body: Bytes,
        version: Option<u64>,
        until: Time,
    ) -> Result<Option<u64>, RecordError>;

    /// Runs work to its end, even if the caller disconnects.
    async fn run_to_completion(&self, work: BoxFuture<'static, ()>);
}

/// The owner of the request (`None` for the operator), and a hash of the key with its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKey {
    pub owner: Option<TenantId>,
    pub key: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub body: Bytes,
    pub version: u64,
}

/// The store is unavailable.
#[derive(Debug)]
pub struct RecordError;
