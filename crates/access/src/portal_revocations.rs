//! Records when the portal links of a tenant were last revoked. Links are not stored, so all links of a
//! tenant are revoked together, with their sessions.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, TenantScope, Time};
use gancho_store::{CachePolicy, Collection, Precondition, ReadCache, Result, Store};

use crate::portal::MAX_TTL;

pub const COLLECTION: &str = "portal_revocation";
const KEY: &str = "all";
/// How long another node may still accept a revoked link.
const CACHE_TTL: Duration = Duration::from_secs(5);
const MAX_CACHED: usize = 20_000;

pub struct PortalRevocations {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    cache: ReadCache<TenantScope, Option<Time>>,
}

impl PortalRevocations {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let policy = CachePolicy { ttl: CACHE_TTL, max_entries: MAX_CACHED, is_strict: true };
        Self { store, clock, cache: ReadCache::with(policy) }
    }

    /// Revokes all links that were created until now. The record is deleted when the last of them would have
    /// expired.
    pub async fn revoke(&self, scope: TenantScope) -> Result<()> {
        let now = self.clock.now();
        let (collection, body) = (Collection::of(scope, COLLECTION), now.micros().to_string());
        let until = now + MAX_TTL;
        let (body, expect) = (body.into_bytes().into(), Precondition::Anything);
        self.store.put_document_until(collection, KEY, body, expect, until).await?;
        self.cache.forget(scope);
        Ok(())
    }

    /// Whether a link that was created at this time is revoked.
    pub async fn has(&self, scope: TenantScope, made_at: Time) -> Result<bool> {
        let read = |_| async move {
            let found = self.store.document(Collection::of(scope, COLLECTION), KEY).await?;
            let at =
                found.and_then(|document| std::str::from_utf8(&document.body).ok()?.parse().ok());
            Ok(Arc::new(at.map(Time::from_micros)))
        };
        let revoked_at = *self.cache.get(scope, read).await?;
        Ok(revoked_at.is_some_and(|revoked_at| made_at <= revoked_at))
    }
}
