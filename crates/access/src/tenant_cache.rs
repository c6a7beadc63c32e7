//! Caches tenants, so that publishing does not read one for every event.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::{Tenant, TenantId, tenant::is_slug};
use gancho_store::{CachePolicy, ReadCache, Result, Store};
use parking_lot::RwLock;

/// Maximum cached tenants. Beyond it entries are evicted and read again.
const MAX_CACHED: usize = 50_000;

pub struct TenantCache {
    store: Arc<dyn Store>,
    cache: ReadCache<TenantId, Option<Arc<Tenant>>>,
    /// Slugs never change, but that of a deleted tenant may be given to another.
    slugs: RwLock<HashMap<Box<str>, TenantId>>,
}

impl TenantCache {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let policy = CachePolicy { max_entries: MAX_CACHED, ..CachePolicy::default() };
        Self { store, cache: ReadCache::with(policy), slugs: RwLock::default() }
    }

    /// Returns a tenant by id. Returns the cached one while the database is unavailable.
    pub async fn get(&self, id: TenantId) -> Result<Option<Arc<Tenant>>> {
        let read = |_| async move { Ok(Arc::new(self.store.tenant(id).await?.map(Arc::new))) };
        Ok(self.cache.get(id, read).await?.as_ref().clone())
    }

    /// Finds a tenant by slug or id.
    pub async fn find(&self, name: &str) -> Result<Option<Arc<Tenant>>> {
        let known = self.slugs.read().get(name).copied();
        if let Some(id) = known.or_else(|| name.parse().ok()) {
            let found = self.get(id).await?;
            if found.is_some() || known.is_none() {
                return Ok(found);
            }
            self.slugs.write().remove(name);
        }
        // A tenant without a valid slug cannot exist.
        if !is_slug(name) {
            return Ok(None);
        }
        let Some(found) = self.store.tenant_by_slug(name).await? else { return Ok(None) };
        let mut slugs = self.slugs.write();
        if slugs.len() >= MAX_CACHED {
            slugs.clear();
        }
        slugs.insert(name.into(), found.id);
        Ok(Some(Arc::new(found)))
    }

    /// Drops a tenant that was changed on this node.
    pub fn forget(&self, id: TenantId) {
        self.cache.forget(id);
    }
}
