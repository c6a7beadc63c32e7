//! Handing due deliveries to a node.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, Parcel, ParcelId, TenantId, Time};
use gancho_store::{Claim, Claimed, Claiming, Job, NodeId, Result};
use parking_lot::Mutex;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    fault::{Fault, store_error},
    rows::{self, uuid},
    session::{Transaction, execute, query},
    walk::{self, Plan},
};

/// Locks what the plan says, passing over what another node is just taking, cuts it where the bodies
/// have become too many bytes, and leases the rest. `state = 2` is asked again of a row that changed
/// in between, so that none is leased twice.
///
/// The columns are those of [`rows::job`].
pub(crate) const TAKE: &str = "
with picked as materialized (
    select h.place, d.*
    from unnest($1::uuid[], $2::uuid[], $3::int4[]) with ordinality
        as h(tenant_id, target_id, most, place)
    cross join lateral (
        select d.tenant_id, d.id, d.parcel_id, d.due_at from deliveries d
        where d.state = 2 and d.lane = $4 and d.tenant_id = h.tenant_id
          and d.target_id = h.target_id and d.due_at <= $5
        order by d.due_at, d.id limit h.most for update skip locked
    ) d
), sized as materialized (
    select k.tenant_id, k.id,
        row_number() over turns as turn,
        sum(octet_length(p.body)) over turns - octet_length(p.body) as bytes_before
    from picked k join parcels p on p.tenant_id = k.tenant_id and p.id = k.parcel_id
    window turns as (order by k.place, k.due_at, k.id rows unbounded preceding)
), taken as (
    update deliveries d set state = 3, owner = $6
    from sized s
    where d.tenant_id = s.tenant_id and d.id = s.id and d.state + 0 = 2
      and (s.turn = 1 or s.bytes_before < $7)
    returning d.*, s.turn
)
select d.id, d.tenant_id, d.lane, d.target_id, d.attempts, d.attempts_before,
    d.order_key is not null, d.created_at,
    d.was_dead and exists (
        select from dead_letters l where l.tenant_id = d.tenant_id and l.delivery_id = d.id),
    p.id, p.tenant_id, p.kind, p.event_type, p.subject, p.external_id, p.is_test, p.created_at,
    p.body, p.number
from taken d join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
order by d.turn";

const NEXT_DUE: &str = "
select due_at from deliveries where state = 2 and lane = $1 and due_at > $2
order by due_at limit 1";

#[async_trait]
impl Claiming for PostgresStore {
    async fn claim(&self, claim: Claim) -> Result<Claimed> {
        self.empty_limbo().await?;
        let session = self.session().await?;
        let mut plan = walk::plan(&session, &claim).await.map_err(Fault::into_error)?;
        drop(session);
        let mut jobs = Vec::new();
        let mut pending = None;
        if !plan.takes.is_empty() {
            let taken = self.take(&claim, &plan).await.map_err(Fault::into_error)?;
            (jobs, pending) = (taken.0, Some(taken.1));
            // Less than planned: another node was quicker, or the bytes ran out.
            let planned: i32 = plan.takes.iter().map(|take| take.most).sum();
            plan.more |= jobs.len() < planned as usize;
        }
        let next_due = if plan.more { None } else { self.next_due(&claim).await? };
        // Nothing is awaited any more: the caller has them.
        pending.iter_mut().for_each(Pending::clear);
        Ok(Claimed { jobs, cursor: plan.cursor, more: plan.more, next_due })
    }

    async fn release(&self, node: NodeId, deliveries: Vec<(TenantId, DeliveryId)>) -> Result<()> {
        if self.give_back(node, &deliveries).await? > 0 {
            self.bells.ring_all();
        }
        Ok(())
    }
}

impl PostgresStore {
    async fn take(&self, claim: &Claim, plan: &Plan) -> Result<(Vec<Job>, Pending), Fault> {
        let tenants: Vec<Uuid> = plan.takes.iter().map(|take| uuid(take.tenant)).collect();
        let targets: Vec<Uuid> = plan.takes.iter().map(|take| uuid(take.target)).collect();
        let most: Vec<i32> = plan.takes.iter().map(|take| take.most).collect();
        let most_bytes = i64::try_from(claim.most_bytes).unwrap_or(i64::MAX);
        let transaction = Transaction::begin(self.session().await?).await?;
        let taken = query(
            transaction.session()?,
            TAKE,
            &[
                &tenants,
                &targets,
                &most,
                &claim.lane.number(),
                &claim.now.micros(),
                &claim.node.0,
                &most_bytes,
            ],
        )
        .await?;
        let jobs = jobs(&taken)?;
        // From here on they may be leased without anyone knowing, should the answer be lost.
        let pending = self.limbo.note(claim.node, &jobs);
        transaction.commit().await?;
        Ok((jobs, pending))
    }

    async fn next_due(&self, claim: &Claim) -> Result<Option<Time>> {
        let session = self.session().await?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&claim.lane.number(), &claim.now.micros()];
        let found = query(&session, NEXT_DUE, &values).await.map_err(store_error)?;
        found.first().map(|row| rows::time(row, 0)).transpose()
    }

    /// Makes pending again what this node holds. Rows that a lost claim may still be leasing are
    /// waited for.
    async fn give_back(&self, node: NodeId, deliveries: &[(TenantId, DeliveryId)]) -> Result<u64> {
        if deliveries.is_empty() {
            return Ok(0);
        }
        let mut sorted = deliveries.to_vec();
        sorted.sort_unstable();
        let tenants: Vec<Uuid> = sorted.iter().map(|one| uuid(one.0)).collect();
        let ids: Vec<Uuid> = sorted.iter().map(|one| uuid(one.1)).collect();
        let session = self.session().await?;
        execute(
            &session,
            "update deliveries d set state = 2, owner = 0
             from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
             where d.tenant_id = k.tenant_id and d.id = k.id and d.state + 0 = 3 and d.owner = $3",
            &[&tenants, &ids, &node.0],
        )
        .await
        .map_err(store_error)
    }

    /// What a claim may have leased without its caller learning of it is given back before the next.
    async fn empty_limbo(&self) -> Result<()> {
        while let Some((node, deliveries)) = self.limbo.last() {
            if self.give_back(node, &deliveries).await? > 0 {
                self.bells.ring_all();
            }
            self.limbo.forget(node, &deliveries);
        }
        Ok(())
    }
}

fn jobs(taken: &[Row]) -> Result<Vec<Job>> {
    // Deliveries of one parcel share it.
    let mut parcels: HashMap<(TenantId, ParcelId), Arc<Parcel>> = HashMap::new();
    taken
        .iter()
        .map(|row| {
            let mut job = rows::job(row)?;
            let shared =
                parcels.entry((job.tenant, job.parcel.id)).or_insert_with(|| job.parcel.clone());
            job.parcel = shared.clone();
            Ok(job)
        })
        .collect()
}

type Held = (NodeId, Vec<(TenantId, DeliveryId)>);

/// Deliveries that may be leased to a node which does not know it, because the answer to the claim's
/// commit was lost or its caller went away before the claim returned.
#[derive(Default)]
pub(crate) struct Limbo(Arc<Mutex<Vec<Held>>>);

impl Limbo {
    /// Notes them when dropped, unless cleared before.
    fn note(&self, node: NodeId, jobs: &[Job]) -> Pending {
        let deliveries = jobs.iter().map(|job| (job.tenant, job.delivery)).collect();
        Pending { limbo: self.0.clone(), held: Some((node, deliveries)) }
    }

    fn last(&self) -> Option<Held> {
        self.0.lock().last().cloned()
    }

    fn forget(&self, node: NodeId, deliveries: &[(TenantId, DeliveryId)]) {
        self.0.lock().retain(|held| held.0 != node || held.1 != deliveries);
    }
}

struct Pending {
    limbo: Arc<Mutex<Vec<Held>>>,
    held: Option<Held>,
}

impl Pending {
    fn clear(&mut self) {
        self.held = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(held) = self.held.take().filter(|held| !held.1.is_empty()) {
            self.limbo.lock().push(held);
        }
    }
}
