//! Connects the Svix-compatible API to the API in this process.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use gancho_access::{AccessError, Principal};
use gancho_api::{Api, InProcessApi};
use gancho_domain::{Tenant, TenantScope, Time};
use gancho_store::{Collection, Precondition};
use gancho_svix::{
    Backend, Setup,
    backend::{Record, RecordError, RecordKey, RequestGuard},
};
use http::{Request, Response, request::Parts};

use crate::api_backend::ApiBackend;

/// Room for what surrounds the payload of a message.
const ENVELOPE_BYTES: usize = 4 * 1024;

/// Routes everything below `/api/v1`.
pub fn router(api: &Api) -> axum::Router {
    gancho_svix::router(Setup {
        backend: Arc::new(ApiBackend(InProcessApi::new(api))),
        clock: api.clock.clone(),
        ids: api.ids.clone(),
        body_bytes: api.settings.body_bytes + ENVELOPE_BYTES,
    })
}

#[async_trait]
impl Backend for ApiBackend {
    async fn identify(&self, parts: &Parts) -> Result<Principal, Response<Bytes>> {
        self.0.identify(parts).await
    }

    async fn begin_request(
        &self,
        principal: &Principal,
        parts: &Parts,
        body: Body,
        max: usize,
    ) -> Result<(Bytes, RequestGuard), Response<Bytes>> {
        let (bytes, held) = self.0.read_body(Some(principal), parts, body, max).await?;
        let slot = self.0.begin_request(principal).await?;
        Ok((bytes, Arc::new((held, slot))))
    }

    async fn tenant(&self, name: &str) -> Result<Option<Arc<Tenant>>, AccessError> {
        Ok(self.0.api().access.tenants.find(name).await?)
    }

    async fn call(&self, principal: Principal, request: Request<Bytes>) -> Response<Bytes> {
        self.0.call(principal, request).await
    }

    async fn record(&self, key: &RecordKey) -> Result<Option<Record>, RecordError> {
        let found = self.0.api().store.document(collection(key), &key.key).await;
        let found = found.map_err(|_| RecordError)?;
        Ok(found.map(|document| Record { body: document.body, version: document.version }))
    }

    async fn put_record(
        &self,
        key: &RecordKey,
        body: Bytes,
        version: Option<u64>,
        until: Time,
    ) -> Result<Option<u64>, RecordError> {
        let expect = version.map_or(Precondition::Nothing, Precondition::Version);
        let store = &self.0.api().store;
        let written = store.put_document_until(collection(key), &key.key, body, expect, until);
        written.await.map_err(|_| RecordError)
    }

    async fn run_to_completion(&self, work: BoxFuture<'static, ()>) {
        self.0.api().engine.run_to_completion(work).await;
    }
}

/// Returns the collection of requests with an idempotency key.
fn collection(key: &RecordKey) -> Collection {
    const KIND: &str = "svix_request";
    match key.owner {
        Some(tenant) => Collection::of(TenantScope::internal(tenant), KIND),
        None => Collection::operators(KIND),
    }
}
