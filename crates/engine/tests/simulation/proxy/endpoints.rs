//! Endpoints, and what is left of those that were deleted. The engine does not call these methods.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, TenantScope, Time};
use gancho_store::{EndedDelivery, Endpoints, OrphanScan, Orphans, Result, TenantEndpoint};

use super::Proxy;

#[async_trait]
impl Endpoints for Proxy {
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool> {
        self.inner.add_endpoint(scope, endpoint, max_endpoints).await
    }

    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool> {
        self.inner.change_endpoint(scope, endpoint).await
    }

    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()> {
        self.inner.save_endpoint(scope, endpoint).await
    }

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>> {
        self.inner.endpoint(scope, id).await
    }

    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>> {
        self.inner.endpoint_by_external_id(scope, external_id).await
    }

    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>> {
        self.inner.endpoints(scope).await
    }

    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>> {
        self.inner.newest_endpoints(scope, before, max).await
    }

    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64> {
        self.inner.endpoints_version(scope).await
    }

    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool> {
        self.inner.delete_endpoint(scope, id).await
    }
}

#[async_trait]
impl Orphans for Proxy {
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan> {
        self.inner.scan_orphans(after, max).await
    }

    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        self.inner.give_up_orphans(scope, endpoint, max, now).await
    }

    async fn lift_orphaned_pauses(&self) -> Result<u64> {
        self.inner.lift_orphaned_pauses().await
    }
}
