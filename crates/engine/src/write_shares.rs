//! Turns at the store for those who write to it: of each tenant only so much is in the store's hands at a time.
//!
//! The store commits in the order in which it is asked. Without this, a tenant that publishes thousands of events at
//! once would be in front of everybody who asks after it.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use gancho_domain::TenantId;
use gancho_store::NewParcel;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Rows that a tenant may have in the store's hands. What is larger goes alone.
pub const MAX_ROWS: usize = 512;
/// A body counts as one more row for each of these.
const BYTES_PER_ROW: usize = 4 << 10;

#[derive(Default)]
pub struct WriteShares {
    /// Of tenants that write now.
    tenants: Mutex<HashMap<TenantId, Arc<Semaphore>>>,
}

/// A tenant's turn. It ends when this is dropped.
pub struct WriteShare {
    shares: Arc<WriteShares>,
    tenant: TenantId,
    permit: Option<OwnedSemaphorePermit>,
}

impl WriteShares {
    /// When the tenant has few enough rows in the store's hands for these. First come, first served.
    pub async fn acquire(self: &Arc<Self>, tenant: TenantId, rows: usize) -> WriteShare {
        let share = {
            let mut tenants = self.tenants.lock();
            let all = tenants.entry(tenant).or_insert_with(|| Arc::new(Semaphore::new(MAX_ROWS)));
            // Made before the wait, so that the entry stays for as long as anybody needs it.
            (all.clone(), WriteShare { shares: self.clone(), tenant, permit: None })
        };
        let (all, mut share) = share;
        // It is never closed; if it were, nobody would have to wait.
        share.permit = all.acquire_many_owned(rows.clamp(1, MAX_ROWS) as u32).await.ok();
        share
    }
}

impl Drop for WriteShare {
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

/// What it takes to store these.
pub fn rows_of(parcels: &[NewParcel]) -> usize {
    parcels.iter().map(rows).sum()
}

fn rows(new: &NewParcel) -> usize {
    1 + new.deliveries.len() + new.parcel.body.len() / BYTES_PER_ROW
}

/// Parcels in parts that each have their turn: of no more than [`MAX_ROWS`], unless one parcel alone has more.
pub fn in_turns(parcels: Vec<NewParcel>) -> Vec<Vec<NewParcel>> {
    let mut turns: Vec<Vec<NewParcel>> = Vec::new();
    let mut taken = MAX_ROWS;
    for new in parcels {
        let rows = rows(&new);
        match turns.last_mut() {
            Some(turn) if taken + rows <= MAX_ROWS => {
                taken += rows;
                turn.push(new);
            }
            _ => {
                taken = rows;
                turns.push(vec![new]);
            }
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ONE: TenantId = TenantId::from_bits(1);
    const OTHER: TenantId = TenantId::from_bits(2);

    #[tokio::test]
    async fn a_tenant_waits_for_itself_and_for_nobody_else() {
        let shares = Arc::new(WriteShares::default());
        let all = shares.acquire(ONE, 10_000).await;
        let mut next = Box::pin(shares.acquire(ONE, 1));
        assert!(next.as_mut().now_or_never().is_none(), "its own are in the way");
        let other = shares.acquire(OTHER, MAX_ROWS).now_or_never();
        assert!(other.is_some(), "another's are not");
        drop(all);
        let next = next.await;
        drop((next, other));
        assert!(shares.tenants.lock().is_empty(), "nothing is kept of those who wrote");
    }

    #[tokio::test]
    async fn one_who_gives_up_waiting_leaves_nothing() {
        let shares = Arc::new(WriteShares::default());
        let all = shares.acquire(ONE, MAX_ROWS).await;
        assert!(shares.acquire(ONE, 1).now_or_never().is_none());
        drop(all);
        assert!(shares.tenants.lock().is_empty());
    }
}
