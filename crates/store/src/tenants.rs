//! Tenants.

use async_trait::async_trait;
use gancho_domain::{Tenant, TenantId};

use crate::Result;

#[async_trait]
pub trait Tenants: Send + Sync + 'static {
    /// Fails with [`crate::StoreError::Taken`] where the slug is in use.
    async fn create_tenant(&self, tenant: Tenant) -> Result<()>;

    /// Replaces the one with its id; its slug stays. Whether it was there.
    async fn change_tenant(&self, tenant: Tenant) -> Result<bool>;

    /// Returns at most `max` tenants by slug, after `after`.
    async fn tenants(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>>;

    /// The same for a list that people read: of a store with several parts those that answer.
    async fn tenants_to_show(&self, after: Option<&str>, max: usize) -> Result<Vec<Tenant>> {
        self.tenants(after, max).await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>>;

    async fn tenant_by_slug(&self, slug: &str) -> Result<Option<Tenant>>;
}
