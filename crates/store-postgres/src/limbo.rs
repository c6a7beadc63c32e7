//! Deliveries that may be leased to a node which does not know it: the answer to a claim's commit
//! was lost, or whoever claimed or accepted them went away before the answer came. The node lives, so
//! no one would rescue them: they are given back before its next claim.

use std::sync::Arc;

use deadpool_postgres::ClientWrapper;
use gancho_domain::{DeliveryId, TenantId};
use gancho_store::{Job, NodeId};
use parking_lot::Mutex;
use tokio_postgres::Error;
use uuid::Uuid;

use crate::{
    PostgresStore,
    fault::Fault,
    rows::uuid,
    session::{Transaction, execute, query},
};

pub(crate) type Held = (NodeId, Vec<(TenantId, DeliveryId)>);

#[derive(Default)]
pub(crate) struct Limbo {
    held: Arc<Mutex<Vec<Held>>>,
    /// Held while it is emptied: what one caller gives back must not be given back by another when
    /// it has just been claimed anew.
    turn: tokio::sync::Mutex<()>,
}

impl Limbo {
    pub(crate) fn note(&self, node: NodeId, jobs: &[Job]) -> Unheard {
        let deliveries = jobs.iter().map(|job| (job.tenant, job.delivery)).collect();
        self.guard((node, deliveries))
    }

    pub(crate) fn guard(&self, held: Held) -> Unheard {
        Unheard { limbo: self.held.clone(), held: Some(held) }
    }

    fn pop(&self) -> Option<Unheard> {
        let held = self.held.lock().pop();
        held.map(|held| self.guard(held))
    }
}

/// Puts its deliveries into limbo when it is dropped, unless it is cleared before.
pub(crate) struct Unheard {
    limbo: Arc<Mutex<Vec<Held>>>,
    held: Option<Held>,
}

impl Unheard {
    pub(crate) fn clear(&mut self) {
        self.held = None;
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        if let Some(held) = self.held.take().filter(|held| !held.1.is_empty()) {
            self.limbo.lock().push(held);
        }
    }
}

impl PostgresStore {
    pub(crate) async fn empty_limbo(&self) -> Result<(), Fault> {
        if self.limbo.held.lock().is_empty() {
            return Ok(());
        }
        let _turn = self.limbo.turn.lock().await;
        while let Some(mut unheard) = self.limbo.pop() {
            if let Some((node, deliveries)) = &unheard.held {
                let transaction = Transaction::begin(self.session().await?).await?;
                let session = transaction.session()?;
                wait_for(session, deliveries).await?;
                give_back(session, *node, deliveries).await?;
                transaction.commit().await?;
            }
            unheard.clear();
            self.bells.ring_all();
        }
        Ok(())
    }
}

/// The lost commit may still be under way. Until it ends its rows read as they were before, which an
/// update would believe; to lock them is to wait.
async fn wait_for(
    session: &ClientWrapper,
    deliveries: &[(TenantId, DeliveryId)],
) -> Result<(), Error> {
    let (tenants, ids) = columns(deliveries);
    let sql = "select from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
        join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id for update of d";
    query(session, sql, &[&tenants, &ids]).await?;
    Ok(())
}

/// Makes pending again those that the node holds.
pub(crate) async fn give_back(
    session: &ClientWrapper,
    node: NodeId,
    deliveries: &[(TenantId, DeliveryId)],
) -> Result<u64, Error> {
    let (tenants, ids) = columns(deliveries);
    let sql = "update deliveries d set state = 2, owner = 0
        from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
        where d.tenant_id = k.tenant_id and d.id = k.id and d.state + 0 = 3 and d.owner = $3";
    execute(session, sql, &[&tenants, &ids, &node.0]).await
}

/// Sorted, so that two transactions wait for each other instead of blocking each other.
fn columns(deliveries: &[(TenantId, DeliveryId)]) -> (Vec<Uuid>, Vec<Uuid>) {
    let mut sorted = deliveries.to_vec();
    sorted.sort_unstable();
    sorted.iter().map(|(tenant, id)| (uuid(*tenant), uuid(*id))).unzip()
}
