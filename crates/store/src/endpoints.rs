//! Tenants' URLs.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, TenantScope};

use crate::Result;

#[async_trait]
pub trait Endpoints: Send + Sync + 'static {
    /// Creates an endpoint, unless the tenant has `max_endpoints` already: then it writes nothing and returns
    /// false. This and every change fail with [`crate::StoreError::Taken`] where another one of the tenant's has its
    /// external id.
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool>;

    /// Replaces the one with its id if that still has the version of `endpoint`; the new one has the
    /// next version. Otherwise nothing is written and the answer is false: read it again.
    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool>;

    /// Makes it, or replaces the one with its id, whatever its version.
    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()>;

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>>;

    /// The one with this external id.
    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>>;

    /// All of one tenant's, oldest first.
    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>>;

    /// Returns at most `max` endpoints of one tenant, newest first, before `before`.
    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>>;

    /// Rises whenever one of the tenant's endpoints is made, changed or deleted: as long as it is the
    /// same, so are they.
    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64>;

    /// Deletes it with its pause, and returns whether it existed. Its deliveries stay in the log; those
    /// still waiting end as dead letters, by [`crate::Orphans::give_up_orphans`] or when they are next
    /// tried.
    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool>;
}
