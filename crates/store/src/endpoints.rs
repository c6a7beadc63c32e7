//! Tenants' URLs.

use async_trait::async_trait;
use gancho_domain::{Endpoint, EndpointId, TenantScope};

use crate::Result;

#[async_trait]
pub trait Endpoints: Send + Sync + 'static {
    /// Makes it, or replaces the one with its id.
    async fn save_endpoint(&self, scope: TenantScope, endpoint: Endpoint) -> Result<()>;

    async fn endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<Option<Endpoint>>;

    /// All of one tenant's, oldest first.
    async fn endpoints(&self, scope: TenantScope) -> Result<Vec<Endpoint>>;

    /// Whether it was there. Its deliveries stay in the log; those still waiting end as dead letters
    /// when they are next tried.
    async fn delete_endpoint(&self, scope: TenantScope, id: EndpointId) -> Result<bool>;
}
