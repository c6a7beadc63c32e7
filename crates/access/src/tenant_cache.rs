//! Tenants, kept in memory for a moment: publishing must not read one for every event.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::{Tenant, TenantId, tenant::is_slug};
use gancho_store::{CachePolicy, ReadCache, Result, Store};
use parking_lot::RwLock;

/// More are forgotten and read again.
const MAX_CACHED: usize = 50_000;

pub struct TenantCache {
    store: Arc<dyn Store>,
    cache: ReadCache<TenantId, Option<Arc<Tenant>>>,
    /// Slugs never change, so this is only ever added to.
    slugs: RwLock<HashMap<Box<str>, TenantId>>,
}

impl TenantCache {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let policy = CachePolicy { max_entries: MAX_CACHED, ..CachePolicy::default() };
        Self { store, cache: ReadCache::with(policy), slugs: RwLock::default() }
    }

    /// A tenant does not go away because the database does.
    pub async fn get(&self, id: TenantId) -> Result<Option<Arc<Tenant>>> {
        let read = |_| async move { Ok(Arc::new(self.store.tenant(id).await?.map(Arc::new))) };
        Ok(self.cache.get(id, read).await?.as_ref().clone())
    }

    /// By slug or by id, as an operator names it.
    pub async fn find(&self, name: &str) -> Result<Option<Arc<Tenant>>> {
        let known = self.slugs.read().get(name).copied();
        if let Some(id) = known.or_else(|| name.parse().ok()) {
            return self.get(id).await;
        }
        // Slugs are plain; what is not one is not looked for.
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

    /// It was changed here.
    pub fn forget(&self, id: TenantId) {
        self.cache.forget(id);
    }
}
