//! Tenants.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId};

use crate::Result;

#[async_trait]
pub trait Tenants: Send + Sync + 'static {
    /// Creates a tenant. Fails with [`crate::StoreError::Taken`] if the slug is in use.
    async fn create_tenant(&self, tenant: Tenant) -> Result<()>;

    /// Replaces a tenant, but keeps its slug. Returns whether it existed.
    async fn change_tenant(&self, tenant: Tenant) -> Result<bool>;

    /// Returns at most `max` tenants by slug, after `after`.
    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>>;

    /// As [`Self::tenants`], for a list that people read: in a store with several parts, only parts that
    /// answer are included.
    async fn tenants_to_show(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        self.tenants(after, max).await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>>;

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>>;
}
