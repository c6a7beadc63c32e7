//! Tenants, kept in memory for a moment: publishing must not read one for every event.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_domain::{Tenant, TenantId};
use gancho_store::{Result, Store, StoreError};
use parking_lot::RwLock;

/// How long another node's change may go unseen.
const TRUSTED: Duration = Duration::from_secs(2);
/// More are forgotten and read again.
const MOST: usize = 50_000;

pub struct TenantCache {
    store: Arc<dyn Store>,
    known: RwLock<HashMap<TenantId, (Instant, Arc<Tenant>)>>,
    /// Slugs never change, so this is only ever added to.
    slugs: RwLock<HashMap<Box<str>, TenantId>>,
    /// How often a tenant was forgotten: what was read before must not come back.
    forgotten: AtomicU64,
}

impl TenantCache {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            known: RwLock::default(),
            slugs: RwLock::default(),
            forgotten: AtomicU64::new(0),
        }
    }

    pub async fn get(&self, id: TenantId) -> Result<Option<Arc<Tenant>>> {
        let known = self.known.read().get(&id).cloned();
        let forgotten = self.forgotten.load(Ordering::Acquire);
        match known {
            Some((read_at, tenant)) if read_at.elapsed() < TRUSTED => Ok(Some(tenant)),
            // A tenant does not go away because the database does.
            Some((_, stale)) => match self.store.tenant(id).await {
                Ok(read) => Ok(read.map(|tenant| self.keep(tenant, forgotten))),
                Err(StoreError::Unavailable(_) | StoreError::Busy(_)) => Ok(Some(stale)),
                Err(error) => Err(error),
            },
            None => Ok(self.store.tenant(id).await?.map(|tenant| self.keep(tenant, forgotten))),
        }
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
        let forgotten = self.forgotten.load(Ordering::Acquire);
        let found = self.store.tenant_by_slug(name).await?;
        Ok(found.map(|tenant| self.keep(tenant, forgotten)))
    }

    /// It was changed here.
    pub fn forget(&self, id: TenantId) {
        let mut known = self.known.write();
        self.forgotten.fetch_add(1, Ordering::Release);
        known.remove(&id);
    }

    fn keep(&self, tenant: Tenant, forgotten: u64) -> Arc<Tenant> {
        let tenant = Arc::new(tenant);
        let mut known = self.known.write();
        if self.forgotten.load(Ordering::Acquire) != forgotten {
            return tenant;
        }
        if known.len() >= MOST {
            known.clear();
            self.slugs.write().clear();
        }
        known.insert(tenant.id, (Instant::now(), tenant.clone()));
        self.slugs.write().insert(tenant.slug.as_str().into(), tenant.id);
        tenant
    }
}

/// Lower-case letters, digits and dashes, from a letter or digit on, at most 63.
pub fn is_slug(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'_')
        && text.bytes().next().is_some_and(plain)
}

#[cfg(test)]
mod tests {
    use super::is_slug;

    #[test]
    fn slugs() {
        for good in ["m2", "a", "0x", "acme-corp", "acme_corp", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "-a", "_a", "A", "a b", "a/b", "..", "ü", "a\0", "a.b", &"a".repeat(64)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}
