//! Deliveries and pauses of deleted endpoints.

use async_trait::async_trait;
use gancho_domain::{EndReason, EndpointId, Lane, State, TenantScope, Time};
use gancho_store::{EndedDelivery, OrphanScan, Orphans, Result, TenantEndpoint};
use uuid::Uuid;

use crate::{
    PostgresStore,
    give_up::{self, GiveUp},
    pauses::OF_ENDPOINT,
    rows::{self, uuid},
    session::{execute, query, query_in_index_order},
    states::{LEASED, PENDING, Sql, WAITING},
    tx_error::{TxError, store_error},
};

/// Goes from target to target in the index of pending deliveries. The cost does not depend on how many each
/// has.
pub(crate) static SCAN: Sql = Sql::new(|| {
    format!("
with recursive walk(tenant_id, target_id, place) as (
    (select d.tenant_id, d.target_id, 1 from deliveries d
     where d.state = {PENDING} and d.lane = $1 and (d.tenant_id, d.target_id) > ($2, $3)
     order by d.tenant_id, d.target_id limit 1)
    union all
    select n.tenant_id, n.target_id, w.place + 1
    from walk w cross join lateral (
        select d.tenant_id, d.target_id from deliveries d
        where d.state = {PENDING} and d.lane = $1 and (d.tenant_id, d.target_id) > (w.tenant_id, w.target_id)
        order by d.tenant_id, d.target_id limit 1) n
    where w.place < $4
)
select w.tenant_id, w.target_id,
    exists (select from endpoints e where e.tenant_id = w.tenant_id and e.id = w.target_id offset 0)
from walk w order by w.place")
});

/// Deliveries that wait for others are not among the pending ones.
pub(crate) static LEFT: Sql = Sql::new(|| {
    format!("
(select tenant_id, id from deliveries
 where state = {PENDING} and lane = $1 and tenant_id = $2 and target_id = $3 order by due_at, id limit $4)
union all
(select tenant_id, id from deliveries
 where tenant_id = $2 and target_id = $3 and order_key is not null and state in ({PENDING}, {LEASED}, {WAITING})
   and state + 0 = {WAITING} and lane = $1 limit $4)
limit $4")
});

static LIFT: Sql = Sql::new(|| {
    format!(
        "
delete from pauses p where p.kind = {OF_ENDPOINT} and not exists (
    select from endpoints e where e.tenant_id = p.tenant_id and e.id = p.target_id)"
    )
});

#[async_trait]
impl Orphans for PostgresStore {
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan> {
        let session = self.session().await?;
        let (tenant, target) =
            after.map_or((Uuid::nil(), Uuid::nil()), |(tenant, id)| (uuid(tenant), uuid(id)));
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&Lane::Webhook.number(), &tenant, &target, &(max as i32)];
        let found = query_in_index_order(session, &SCAN, &values).await.map_err(store_error)?;
        let mut scan = OrphanScan::default();
        for row in &found {
            let endpoint = (rows::id(row, 0)?, rows::id(row, 1)?);
            if !rows::get::<bool>(row, 2)? {
                scan.orphaned.push(endpoint);
            }
            scan.next = Some(endpoint).filter(|_| found.len() == max);
        }
        Ok(scan)
    }

    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        let done = self.give_up_left(scope, endpoint, max, now).await;
        let (ended, moved) = done.map_err(TxError::into_error)?;
        if moved {
            self.bells.ring_all();
        }
        Ok(ended)
    }

    async fn lift_orphaned_pauses(&self) -> Result<u64> {
        let session = self.session().await?;
        let lifted = execute(&session, &LIFT, &[]).await.map_err(store_error)?;
        if lifted > 0 {
            self.bells.ring_all();
        }
        Ok(lifted)
    }
}

impl PostgresStore {
    /// Gives up deliveries to an endpoint that does not exist. An id is never assigned twice, so this cannot
    /// change between the look-up and the write.
    async fn give_up_left(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<(Vec<EndedDelivery>, bool), TxError> {
        let session = self.session().await?;
        let (tenant, target) = (uuid(scope.tenant()), uuid(endpoint));
        let sql = "select from endpoints where tenant_id = $1 and id = $2";
        if !query(&session, sql, &[&tenant, &target]).await?.is_empty() {
            return Ok((Vec::new(), false));
        }
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&Lane::Webhook.number(), &tenant, &target, &(max as i64)];
        let found = query_in_index_order(session, &LEFT, &values).await?;
        let left = found.iter().map(give_up::key).collect::<Result<Vec<_>, TxError>>()?;
        if left.is_empty() {
            return Ok((Vec::new(), false));
        }
        GiveUp {
            from: &[State::Pending, State::Waiting],
            failure: &EndReason::ENDPOINT_DELETED.failure(None),
            tried: Some(EndReason::ENDPOINT_DELETED.tried),
            at: now,
            expires_at: now + self.dead_letter_ttl,
        }
        .run(self.session().await?, &left)
        .await
    }
}
