//! Ends deliveries that still wait for deleted endpoints: as dead letters, without an attempt.
//!
//! An endpoint that is deleted on this node is cleared immediately. A background sweep finds what became
//! pending later: an attempt that was in flight, an event that another node published a moment after, or a
//! node that died in between.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gancho_domain::{Clock, EndpointId, TenantScope};
use gancho_store::{EndedDelivery, Result, Store, TenantEndpoint};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

pub struct OrphanSweeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Endpoints deleted on this node that are not cleared yet.
    deleted: Mutex<BTreeSet<TenantEndpoint>>,
    bell: Notify,
}

/// How often the whole store is swept.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of endpoints that a step checks, and of deliveries that it ends.
const STEP: usize = 500;
/// The pause between two steps, so that others can use the store.
const BREATH: Duration = Duration::from_millis(20);
/// Maximum deleted endpoints that wait to be cleared. Others wait for the sweep.
const MAX_DELETED: usize = 10_000;

impl OrphanSweeper {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, deleted: Mutex::default(), bell: Notify::new() }
    }

    /// Notes that an endpoint was deleted on this node.
    pub fn note_deleted(&self, scope: TenantScope, endpoint: EndpointId) {
        let mut deleted = self.deleted.lock();
        if deleted.len() < MAX_DELETED {
            deleted.insert((scope.tenant(), endpoint));
        }
        self.bell.notify_one();
    }

    /// Runs until it is stopped. Calls `tell` with the deliveries that it ended.
    pub async fn run(&self, tell: impl Fn(&[EndedDelivery]) + Sync, stop: CancellationToken) {
        let mut sweep_at = Instant::now();
        loop {
            report(Ok(self.clear_deleted(&tell).await));
            if Instant::now() >= sweep_at {
                report(self.sweep(&tell).await);
                sweep_at = Instant::now() + SWEEP_INTERVAL;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.bell.notified() => {}
                () = tokio::time::sleep_until(sweep_at) => {}
            }
        }
    }

    /// Sweeps the whole store, and returns how many deliveries were ended.
    pub async fn sweep(&self, tell: &(impl Fn(&[EndedDelivery]) + Sync)) -> Result<u64> {
        let lifted = self.store.lift_orphaned_pauses().await?;
        if lifted > 0 {
            tracing::info!(count = lifted, "removed pauses of deleted endpoints");
        }
        let (mut count, mut after) = (0, None);
        loop {
            let scan = self.store.scan_orphans(after, STEP).await?;
            for orphan in scan.orphaned {
                // One that cannot be cleared, as its database does not answer, holds up no other.
                match self.clear(orphan, tell).await {
                    Ok(ended) => count += ended,
                    error => report(error),
                }
            }
            after = scan.next;
            if after.is_none() {
                return Ok(count);
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn clear_deleted(&self, tell: &(impl Fn(&[EndedDelivery]) + Sync)) -> u64 {
        let mut count = 0;
        loop {
            let Some(deleted) = self.deleted.lock().pop_first() else { return count };
            match self.clear(deleted, tell).await {
                Ok(ended) => count += ended,
                // The sweep finds it.
                error => report(error),
            }
        }
    }

    async fn clear(
        &self,
        (tenant, endpoint): TenantEndpoint,
        tell: &(impl Fn(&[EndedDelivery]) + Sync),
    ) -> Result<u64> {
        let scope = TenantScope::internal(tenant);
        let mut count = 0;
        loop {
            let now = self.clock.now();
            let step = self.store.give_up_orphans(scope, endpoint, STEP, now).await?;
            count += step.len() as u64;
            tell(&step);
            if step.len() < STEP {
                return Ok(count);
            }
            tokio::time::sleep(BREATH).await;
        }
    }
}

fn report(done: Result<u64>) {
    match done {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "ended deliveries to deleted endpoints"),
        Err(error) => tracing::warn!(%error, "could not clean up after deleted endpoints"),
    }
}
