//! What deleted endpoints leave behind, in every cell.

use async_trait::async_trait;
use gancho_domain::{EndpointId, TenantScope, Time};
use gancho_store::{EndedDelivery, OrphanScan, Orphans, Result, TenantEndpoint};

use crate::{CellStore, long_in_cell};

#[async_trait]
impl Orphans for CellStore {
    /// As far as the cell that has looked the least.
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan> {
        let found =
            self.each(|store, _| async move { store.scan_orphans(after, max).await }).await?;
        let next = found.iter().filter_map(|(_, scan)| scan.next).min();
        let mut orphaned: Vec<_> = found.into_iter().flat_map(|(_, scan)| scan.orphaned).collect();
        orphaned.retain(|one| next.is_none_or(|next| *one <= next));
        orphaned.sort_unstable();
        Ok(OrphanScan { orphaned, next })
    }

    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        long_in_cell!(self, scope.tenant(), |store| store
            .give_up_orphans(scope, endpoint, max, now))
    }

    async fn lift_orphaned_pauses(&self) -> Result<u64> {
        let lifted =
            self.each(|store, _| async move { store.lift_orphaned_pauses().await }).await?;
        Ok(lifted.into_iter().map(|(_, count)| count).sum())
    }
}
