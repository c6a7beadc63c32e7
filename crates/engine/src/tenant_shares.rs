//! Shares by tenant: each tenant has the same bounded share of something, and waits only for its own calls.
//!
//! The store commits in the order of its calls, and a request is read in one go. Without shares, a tenant
//! that publishes thousands of events at once would delay every caller after it.

use std::{collections::hash_map::Entry, sync::Arc};

use gancho_domain::{IdMap, TenantId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Gives each tenant the same share.
pub struct TenantShares {
    max: usize,
    /// Tenants that use or wait for a part of their share.
    tenants: Mutex<IdMap<TenantId, Arc<Semaphore>>>,
}

/// A part of a tenant's share. Freed when dropped.
pub struct TenantShare {
    shares: Arc<TenantShares>,
    tenant: TenantId,
    permit: Option<OwnedSemaphorePermit>,
}

impl TenantShares {
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, tenants: Mutex::default() })
    }

    /// Waits until `count` of the tenant's share is free, or all of it if the share is smaller than `count`.
    /// First come, first served.
    pub async fn acquire(self: &Arc<Self>, tenant: TenantId, count: usize) -> TenantShare {
        let share = || Arc::new(Semaphore::new(self.max));
        let all = self.tenants.lock().entry(tenant).or_insert_with(share).clone();
        // Created before the wait: a caller that gives up leaves nothing behind.
        let mut share = TenantShare { shares: self.clone(), tenant, permit: None };
        // The semaphore is never closed; if it were, no caller would have to wait.
        share.permit = all.acquire_many_owned(count.clamp(1, self.max) as u32).await.ok();
        share
    }
}

impl Drop for TenantShare {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut tenants = self.shares.tenants.lock();
        if let Entry::Occupied(entry) = tenants.entry(self.tenant)
            && Arc::strong_count(entry.get()) == 1
        {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ONE: TenantId = TenantId::from_bits(1);
    const OTHER: TenantId = TenantId::from_bits(2);

    #[tokio::test]
    async fn a_tenant_waits_for_itself_and_for_nobody_else() {
        let shares = TenantShares::new(8);
        let all = shares.acquire(ONE, 10_000).await;
        let mut next = Box::pin(shares.acquire(ONE, 1));
        assert!(next.as_mut().now_or_never().is_none(), "its own are in the way");
        let other = shares.acquire(OTHER, 8).now_or_never();
        assert!(other.is_some(), "another's are not");
        drop(all);
        let next = next.await;
        drop((next, other));
        assert!(shares.tenants.lock().is_empty(), "nothing is kept of those who wrote");
    }

    #[tokio::test]
    async fn one_who_gives_up_waiting_leaves_nothing() {
        let shares = TenantShares::new(8);
        let all = shares.acquire(ONE, 8).await;
        assert!(shares.acquire(ONE, 1).now_or_never().is_none());
        drop(all);
        assert!(shares.tenants.lock().is_empty());
    }
}
