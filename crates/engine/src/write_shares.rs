//! Limits how many rows are stored at a time.
//!
//! The store commits in the order of its calls, and a commit takes as long as its rows. So a tenant stores a
//! bounded number of rows at a time, and all tenants that store many at once share one bound: a call with few
//! rows waits for at most one such commit, however many tenants and rows there are. Where tenants live in several
//! databases, each of these has a bound of its own: one that hangs holds up nobody in another.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::TenantId;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::tenant_shares::{TenantShare, TenantShares};

/// Maximum rows that are being stored: of one tenant, and of all calls with many rows. A larger parcel is
/// stored alone.
pub(crate) const MAX_ROWS_STORING: usize = 128;
/// A call with more rows is a call with many rows.
const FEW: usize = 16;

pub(crate) struct WriteShares {
    by_tenant: Arc<TenantShares>,
    /// By the database of the tenant.
    many: Mutex<HashMap<Option<u32>, Arc<Semaphore>>>,
}

/// The permission to store some rows. Freed when dropped.
pub(crate) struct WriteShare {
    _many: Option<OwnedSemaphorePermit>,
    _of_tenant: TenantShare,
}

impl Default for WriteShares {
    fn default() -> Self {
        Self { by_tenant: TenantShares::new(MAX_ROWS_STORING), many: Mutex::default() }
    }
}

impl WriteShares {
    /// Waits for the tenant's own share first, so that each tenant waits only once for the common share and
    /// tenants take turns.
    pub async fn acquire(&self, tenant: TenantId, shard: Option<u32>, rows: usize) -> WriteShare {
        let of_tenant = self.by_tenant.acquire(tenant, rows).await;
        let many = if rows > FEW {
            let rows = rows.min(MAX_ROWS_STORING) as u32;
            // The semaphore is never closed.
            self.many_of(shard).acquire_many_owned(rows).await.ok()
        } else {
            None
        };
        WriteShare { _many: many, _of_tenant: of_tenant }
    }

    fn many_of(&self, shard: Option<u32>) -> Arc<Semaphore> {
        let share = || Arc::new(Semaphore::new(MAX_ROWS_STORING));
        self.many.lock().entry(shard).or_insert_with(share).clone()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ONE: TenantId = TenantId::from_bits(1);
    const OTHER: TenantId = TenantId::from_bits(2);
    const THIRD: TenantId = TenantId::from_bits(3);

    #[tokio::test]
    async fn calls_with_many_rows_take_turns_and_those_with_few_do_not_wait() {
        let shares = WriteShares::default();
        let many = shares.acquire(ONE, None, 100_000).await;
        let mut next = Box::pin(shares.acquire(OTHER, None, FEW + 1));
        assert!(next.as_mut().now_or_never().is_none(), "another's many are in the way");
        assert!(shares.acquire(THIRD, None, FEW).now_or_never().is_some(), "few go at once");
        assert!(shares.acquire(ONE, None, 1).now_or_never().is_none(), "but not behind one's own");
        drop(many);
        assert!(next.now_or_never().is_some());
    }

    #[tokio::test]
    async fn tenants_of_another_database_do_not_wait() {
        let shares = WriteShares::default();
        let many = shares.acquire(ONE, Some(1), 100_000).await;
        let mut next = Box::pin(shares.acquire(OTHER, Some(1), 100_000));
        assert!(next.as_mut().now_or_never().is_none(), "of the same one");
        assert!(shares.acquire(THIRD, Some(0), 100_000).now_or_never().is_some());
        drop(many);
    }

    /// A tenant that makes many calls still waits only once for the common share.
    #[tokio::test]
    async fn tenants_take_turns() {
        let shares = WriteShares::default();
        let first = shares.acquire(ONE, None, MAX_ROWS_STORING).await;
        let mut own = [0; 10].map(|_| Box::pin(shares.acquire(ONE, None, MAX_ROWS_STORING)));
        for call in &mut own {
            assert!(call.as_mut().now_or_never().is_none());
        }
        let mut other = Box::pin(shares.acquire(OTHER, None, MAX_ROWS_STORING));
        assert!(other.as_mut().now_or_never().is_none());
        drop(first);
        assert!(own[0].as_mut().now_or_never().is_none(), "the other was there before");
        assert!(other.now_or_never().is_some(), "one turn later, not ten");
    }
}
