//! Tenants that the gateway itself needs.

use std::sync::Arc;

use anyhow::Context;
use gancho_domain::{Clock, IdMaker, Tenant};
use gancho_store::{Store, StoreError};

pub struct Tenants {
    pub store: Arc<dyn Store>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
}

impl Tenants {
    /// Returns the tenant with that slug. Creates it with that profile if it does not exist.
    pub async fn get_or_create(&self, slug: &str, profile: &str) -> anyhow::Result<Tenant> {
        if let Some(tenant) = self.store.tenant_by_slug(slug).await? {
            return Ok(tenant);
        }
        let mut tenant = Tenant::new(self.ids.make(), slug, self.clock.now());
        profile.clone_into(&mut tenant.default_profile);
        match self.store.create_tenant(tenant.clone()).await {
            Ok(()) => Ok(tenant),
            // Another node created it first.
            Err(StoreError::Taken(_)) => self
                .store
                .tenant_by_slug(slug)
                .await?
                .context("the tenant was deleted concurrently"),
            Err(error) => Err(error.into()),
        }
    }
}
