//! Leases due deliveries to a node.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, Parcel, ParcelId, TenantId, Time};
use gancho_store::{
    Claim, ClaimResult, Claiming, Job, Lease, NodeId, Result, claim::UNREADABLE_DELAY,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    claim_plan::ClaimPlan,
    orphaned_leases::LeaseGuard,
    rows::{self, uuid},
    session::{Transaction, execute, query},
    states::{LEASED, PENDING, Sql, sql},
    tx_error::{TxError, store_error},
    walk,
};

/// Locks the deliveries of the plan, skipping those that another node is claiming, cuts them off where the
/// bodies exceed the maximum, and leases the rest. The state of a row that changed in between is checked
/// again, so that none is leased twice. Only in the order of an index ([`Transaction::begin_in_index_order`]).
///
/// The columns are those of [`rows::job`].
pub(crate) static TAKE: Sql = Sql::new(|| {
    format!(
        "
with picked as materialized (
    select h.place, d.*
    from unnest($1::uuid[], $2::uuid[], $3::int8[]) with ordinality
        as h(tenant_id, target_id, most, place)
    cross join lateral (
        select d.tenant_id, d.id, d.parcel_id, d.due_at from deliveries d
        where d.state = {PENDING} and d.lane = $4 and d.tenant_id = h.tenant_id
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
    update deliveries d set state = {LEASED}, owner = $6
    from sized s
    where d.tenant_id = s.tenant_id and d.id = s.id and d.state + 0 = {PENDING}
      and (s.turn = 1 or s.bytes_before < $7)
    returning d.*, s.turn
)
select d.id, d.tenant_id, d.lane, d.target_id, d.attempts, d.attempts_before,
    d.order_key is not null, d.created_at,
    d.was_dead and exists (
        select from dead_letters l where l.tenant_id = d.tenant_id and l.delivery_id = d.id offset 0),
    d.lost_leases,
    p.id, p.tenant_id, p.kind, p.event_type, p.subject, p.external_id, p.is_test, p.created_at,
    p.body, p.number, p.trace, p.erased_at
from taken d join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
order by d.turn"
    )
});

/// Postpones a delivery that cannot be read, so that it does not delay others.
static PUT_OFF: Sql = Sql::new(|| {
    format!(
        "
update deliveries d set state = {PENDING}, owner = 0, due_at = $3
from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
where d.tenant_id = k.tenant_id and d.id = k.id"
    )
});

static NEXT_DUE: Sql = Sql::new(|| {
    format!(
        "
select due_at from deliveries where state = {PENDING} and lane = $1 and due_at > $2
order by due_at limit 1"
    )
});

#[async_trait]
impl Claiming for PostgresStore {
    async fn claim(&self, claim: Claim) -> Result<ClaimResult> {
        self.release_orphaned().await.map_err(TxError::into_error)?;
        let session = self.engine_session().await?;
        let mut plan = walk::plan(&session, &claim).await.map_err(TxError::into_error)?;
        drop(session);
        let mut jobs = Vec::new();
        let mut guard = None;
        if !plan.takes.is_empty() || !plan.first.is_empty() {
            let taken = self.take(&claim, &plan).await.map_err(TxError::into_error)?;
            (jobs, guard) = (taken.0, Some(taken.1));
            // Fewer than planned: another node was faster, or the maximum size was reached.
            if plan.falls_short(&jobs) {
                plan.leave();
            }
        }
        let ClaimPlan { cursor, caught_up, ends_lap, left, .. } = plan;
        let next_due = if caught_up { self.next_due(&claim).await? } else { None };
        // The caller has them, so no guard is needed any more.
        guard.iter_mut().for_each(LeaseGuard::clear);
        Ok(ClaimResult { jobs, cursor, more: !caught_up, caught_up, ends_lap, left, next_due })
    }

    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let deliveries = leases.iter().map(|lease| (lease.tenant, lease.delivery)).collect();
        self.committers.release(node, deliveries).await
    }

    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool> {
        let session = self.engine_session().await?;
        let sql = sql!(
            "update deliveries set lost_leases = lost_leases + 1
            where tenant_id = $1 and id = $2 and state + 0 = {LEASED} and owner = $3"
        );
        let noted =
            execute(&session, sql, &[&uuid(lease.tenant), &uuid(lease.delivery), &node.0]).await;
        Ok(noted.map_err(store_error)? == 1)
    }
}

impl PostgresStore {
    async fn take(
        &self,
        claim: &Claim,
        plan: &ClaimPlan,
    ) -> Result<(Vec<Job>, LeaseGuard), TxError> {
        let takes = || plan.first.iter().chain(&plan.takes);
        let tenants: Vec<Uuid> = takes().map(|take| uuid(take.tenant)).collect();
        let targets: Vec<Uuid> = takes().map(|take| uuid(take.target)).collect();
        let max: Vec<i64> = takes().map(|take| take.max as i64).collect();
        let max_bytes = i64::try_from(claim.max_bytes).unwrap_or(i64::MAX);
        let transaction = Transaction::begin_in_index_order(self.engine_session().await?).await?;
        let taken = query(
            transaction.session()?,
            &TAKE,
            &[
                &tenants,
                &targets,
                &max,
                &claim.lane.number(),
                &claim.now.micros(),
                &claim.node.0,
                &max_bytes,
            ],
        )
        .await?;
        let (jobs, unreadable) = jobs(&taken)?;
        if !unreadable.0.is_empty() {
            let due_at = (claim.now + UNREADABLE_DELAY).micros();
            let values: [&(dyn ToSql + Sync); 3] = [&unreadable.0, &unreadable.1, &due_at];
            execute(transaction.session()?, &PUT_OFF, &values).await?;
        }
        // From here on they may be leased without the node knowing, if the answer is lost.
        let guard = self.orphaned_leases.note(claim.node, &jobs);
        transaction.commit().await?;
        Ok((jobs, guard))
    }

    async fn next_due(&self, claim: &Claim) -> Result<Option<Time>> {
        let session = self.engine_session().await?;
        let values: [&(dyn ToSql + Sync); 2] = [&claim.lane.number(), &claim.now.micros()];
        let found = query(&session, &NEXT_DUE, &values).await.map_err(store_error)?;
        found.first().map(|row| rows::time(row, 0)).transpose()
    }
}

/// Tenants and deliveries.
type DeliveryKeys = (Vec<Uuid>, Vec<Uuid>);

/// Returns the jobs, and the keys of the rows that cannot be read.
fn jobs(taken: &[Row]) -> Result<(Vec<Job>, DeliveryKeys)> {
    // Deliveries of one parcel share it.
    let mut parcels: HashMap<(TenantId, ParcelId), Arc<Parcel>> = HashMap::new();
    let (mut jobs, mut unreadable) = (Vec::with_capacity(taken.len()), (Vec::new(), Vec::new()));
    for row in taken {
        match rows::job(row) {
            Ok(mut job) => {
                let key = (job.tenant, job.parcel.id);
                job.parcel = parcels.entry(key).or_insert_with(|| job.parcel.clone()).clone();
                jobs.push(job);
            }
            Err(error) => {
                let (tenant, delivery): (TenantId, DeliveryId) =
                    (rows::id(row, 1)?, rows::id(row, 0)?);
                tracing::error!(%tenant, %delivery, %error, "delivery is unreadable; postponed");
                unreadable.0.push(uuid(tenant));
                unreadable.1.push(uuid(delivery));
            }
        }
    }
    Ok((jobs, unreadable))
}
