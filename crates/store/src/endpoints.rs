//! The endpoints of tenants.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, TenantScope};

use crate::Result;

#[async_trait]
pub trait Endpoints: Send + Sync + 'static {
    /// Creates an endpoint, unless the tenant has `max_endpoints` already; in that case it writes nothing and
    /// returns false. This and every change fail with [`crate::StoreError::Taken`] if another endpoint of the
    /// tenant has its external id.
    async fn add_endpoint(
        &self,
        scope: TenantScope,
        endpoint: Endpoint,
        max_endpoints: Option<u32>,
    ) -> Result<bool>;

    /// Replaces the endpoint if it still has the version of `endpoint`; the new one has the next version.
    /// Otherwise writes nothing and returns false: read it again.
    async fn change_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<bool>;

    /// Creates the endpoint, or replaces it whatever its version.
    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()>;

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>>;

    /// Returns the endpoint with this external id.
    async fn endpoint_by_external_id(
        &self,
        scope: TenantScope,
        external_id: &str,
    ) -> Result<Option<Endpoint>>;

    /// Returns all endpoints of a tenant, oldest first.
    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>>;

    /// Returns at most `max` endpoints of one tenant, newest first, before `before`.
    async fn newest_endpoints(
        &self,
        scope: TenantScope,
        before: Option<EndpointId>,
        max: usize,
    ) -> Result<Vec<Endpoint>>;

    /// Returns a number that rises whenever one of the tenant's endpoints is created, changed or deleted.
    /// While it is the same, so are they.
    async fn endpoints_version(&self, scope: TenantScope) -> Result<u64>;

    /// Deletes it with its pause, and returns whether it existed. Its deliveries stay in the log; pending
    /// ones become dead letters, by [`crate::Orphans::give_up_orphans`] or when they are next tried.
    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool>;
}
