//! Deliveries that may be leased to a node that does not know it: the answer to a claim's commit was lost, or
//! the caller that claimed or accepted them was gone before the answer. The node is alive, so no other node
//! rescues them: they are released before its next claim.

use std::sync::Arc;

use gancho_domain::{DeliveryId, TenantId};
use gancho_store::{Job, NodeId};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::uuid,
    session::{Session, Transaction, execute, query},
    states::{LEASED, PENDING, sql},
    tx_error::TxError,
};

/// A node, and what may be leased to it.
pub(crate) type Leases = (NodeId, Vec<(TenantId, DeliveryId)>);

#[derive(Default)]
pub(crate) struct OrphanedLeases {
    all: Arc<Mutex<Vec<Leases>>>,
    /// Locked while they are released: a delivery that one caller has released and a node has claimed again
    /// must not be released by another caller.
    turn: tokio::sync::Mutex<()>,
}

impl OrphanedLeases {
    pub(crate) fn note(&self, node: NodeId, jobs: &[Job]) -> LeaseGuard {
        let deliveries = jobs.iter().map(|job| (job.tenant, job.delivery)).collect();
        self.guard((node, deliveries))
    }

    pub(crate) fn guard(&self, leases: Leases) -> LeaseGuard {
        LeaseGuard { orphaned: self.all.clone(), leases: Some(leases) }
    }

    fn pop(&self) -> Option<LeaseGuard> {
        let leases = self.all.lock().pop();
        leases.map(|leases| self.guard(leases))
    }
}

/// Adds its leases to the orphaned ones when dropped, unless it was cleared before.
pub(crate) struct LeaseGuard {
    orphaned: Arc<Mutex<Vec<Leases>>>,
    leases: Option<Leases>,
}

impl LeaseGuard {
    pub(crate) fn clear(&mut self) {
        self.leases = None;
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if let Some(leases) = self.leases.take().filter(|leases| !leases.1.is_empty()) {
            self.orphaned.lock().push(leases);
        }
    }
}

impl PostgresStore {
    pub(crate) async fn release_orphaned(&self) -> Result<(), TxError> {
        if self.orphaned_leases.all.lock().is_empty() {
            return Ok(());
        }
        let _turn = self.orphaned_leases.turn.lock().await;
        while let Some(mut guard) = self.orphaned_leases.pop() {
            if let Some((node, deliveries)) = &guard.leases {
                let transaction = Transaction::begin(self.engine_session().await?).await?;
                let session = transaction.session()?;
                wait_for(session, deliveries).await?;
                give_back(session, *node, deliveries).await?;
                transaction.commit().await?;
            }
            guard.clear();
            self.bells.ring_all();
        }
        Ok(())
    }
}

/// Waits for a lost commit that may still be in progress. Until it ends, its rows read as before, and an
/// update would believe them; locking the rows waits for it.
async fn wait_for(session: &Session, deliveries: &[(TenantId, DeliveryId)]) -> Result<(), TxError> {
    let (tenants, ids) = columns(deliveries);
    let sql = "select from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
        join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id for update of d";
    query(session, sql, &[&tenants, &ids]).await?;
    Ok(())
}

/// Makes pending again those that the node holds.
pub(crate) async fn give_back(
    session: &Session,
    node: NodeId,
    deliveries: &[(TenantId, DeliveryId)],
) -> Result<u64, TxError> {
    let (tenants, ids) = columns(deliveries);
    let sql = sql!("update deliveries d set state = {PENDING}, owner = 0
        from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
        where d.tenant_id = k.tenant_id and d.id = k.id and d.state + 0 = {LEASED} and d.owner = $3");
    execute(session, sql, &[&tenants, &ids, &node.0]).await
}

/// Sorted, so that concurrent transactions lock rows in the same order and cannot deadlock.
fn columns(deliveries: &[(TenantId, DeliveryId)]) -> (Vec<Uuid>, Vec<Uuid>) {
    let mut sorted = deliveries.to_vec();
    sorted.sort_unstable();
    sorted.iter().map(|(tenant, id)| (uuid(*tenant), uuid(*id))).unzip()
}
