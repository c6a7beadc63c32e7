//! Reading the log of deliveries, retrying and redelivering.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, EndReason, EventId, ParcelId, State, TenantId, TenantScope, Time};
use gancho_store::{
    Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter,
    EventOutline, EventRow, EventView, NewDelivery, Page, PageRequest, Result, RetryOutcome,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    delivery_list::OUTCOME,
    give_up::GiveUp,
    retry::Retries,
    rows::{self, ATTEMPT, DELIVERY, PARCEL, uuid},
    session::{Session, query},
    states::{ENDED, LEASED, PENDING, sql},
    time_buckets,
    tx_error::{TxError, corrupt, store_error},
    where_clause::Conditions,
};

#[async_trait]
impl Deliveries for PostgresStore {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = format!(
            "select {PARCEL}, p.request from parcels p where p.tenant_id = $1 and p.id = $2"
        );
        let found = query(&session, &sql, &[&uuid(scope.tenant()), &uuid(id)]).await;
        let found = found.map_err(store_error)?;
        let Some(row) = found.first() else {
            return Ok(None);
        };
        let (parcel, number) = rows::parcel(row, 0)?;
        let request = rows::get::<Option<&[u8]>>(row, 12)?.map(Bytes::copy_from_slice);
        let mut conditions = of_parcels(scope);
        conditions.add_plain("d.id = any (p.deliveries)");
        conditions.add("p.id = ?", uuid(id));
        let deliveries =
            list(&session, &from_parcels(&conditions, "order by d.id"), &conditions).await?;
        Ok(Some(EventView { parcel, number, deliveries, request }))
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        let mut conditions = Conditions::default();
        conditions.add("d.tenant_id = ?", uuid(scope.tenant()));
        conditions.add("d.id = ?", uuid(id));
        let session = self.session_of(Some(scope.tenant())).await?;
        let found = list(&session, &from_deliveries(&conditions), &conditions).await?;
        let Some(row) = found.into_iter().next() else {
            return Ok(None);
        };
        let tenant = uuid(scope.tenant());
        let sql = format!("select {PARCEL} from parcels p where p.tenant_id = $1 and p.id = $2");
        let found = query(&session, &sql, &[&tenant, &uuid(row.event)]).await;
        let found = found.map_err(store_error)?;
        let parcel = found.first().ok_or_else(|| corrupt("a delivery of nothing"))?;
        let (parcel, number) = rows::parcel(parcel, 0)?;
        let sql = format!(
            "select {ATTEMPT} from attempts where tenant_id = $1 and delivery_id = $2
             order by number"
        );
        let attempts = query(&session, &sql, &[&tenant, &uuid(id)]).await;
        let attempts = attempts.map_err(store_error)?;
        Ok(Some(DeliveryView {
            row,
            parcel,
            number,
            attempts: attempts.iter().map(rows::attempt).collect::<Result<_>>()?,
        }))
    }

    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>> {
        let session = self.session_of(None).await?;
        // Ids are unique within a tenant; the time buckets name the tenants with deliveries at the time of
        // this one.
        let sql = "select d.tenant_id from spans s
            join deliveries d on d.tenant_id = s.tenant_id and d.id = $1
            where s.from_id = $2 limit 1";
        let found = query(&session, sql, &[&uuid(id), &time_buckets::start_of(id)]).await;
        found.map_err(store_error)?.first().map(|row| rows::id(row, 0)).transpose()
    }

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        self.page_of_deliveries(scope, &filter, &page).await
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        let Page { rows, next } = self.page_of_events(Some(scope), &filter, &page).await?;
        Ok(Page { rows: rows.into_iter().map(|owned| owned.row).collect(), next })
    }

    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>> {
        self.outlines(scope, ids.into_iter().map(uuid).collect()).await
    }

    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        max_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>> {
        let session = self.lists.next(Some(scope.tenant())).await?;
        let ids: Vec<Uuid> = ids.into_iter().map(uuid).collect();
        let max = i32::try_from(max_bytes).unwrap_or(i32::MAX);
        // Bodies are not compressed, so that only the requested parts are read.
        let sql = "select p.id, substring(p.body from 1 for $3)
            from unnest($2::uuid[]) with ordinality as k(id, place)
            cross join lateral (select p.id, p.body from parcels p
                where p.tenant_id = $1 and p.id = k.id offset 0) p
            order by k.place";
        let found = query(&session, sql, &[&uuid(scope.tenant()), &ids, &max]).await;
        let found = found.map_err(store_error)?;
        found.iter().map(|row| Ok((rows::id(row, 0)?, rows::bytes(row, 1)?))).collect()
    }

    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        let sent = self.add_deliveries(scope, event, &deliveries).await?;
        if sent {
            self.bells.ring_all();
        }
        Ok(sent)
    }

    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome> {
        let session = self.session_of(Some(scope.tenant())).await?;
        // The row is read as it was before, and locked, so that both parts see the same.
        let found = query(
            &session,
            sql!("with found as materialized (
               select tenant_id, id, state from deliveries
               where tenant_id = $1 and id = $2 for update
             ), retried as (
               update deliveries d set state = {PENDING}, owner = 0, due_at = $3,
                 attempts_before = case when d.state >= {ENDED} then d.attempts else d.attempts_before end,
                 lost_leases = 0
               from found f
               where d.tenant_id = f.tenant_id and d.id = f.id and f.state <> {LEASED}
             )
             select state from found"),
            &[&uuid(scope.tenant()), &uuid(id), &now.micros()],
        )
        .await
        .map_err(store_error)?;
        let Some(row) = found.first() else {
            return Ok(RetryOutcome::Unknown);
        };
        if rows::state(row, 0)? == State::Leased {
            return Ok(RetryOutcome::InFlight);
        }
        self.bells.ring_all();
        Ok(RetryOutcome::Due)
    }

    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64> {
        let keys: Vec<_> = ids.into_iter().map(|id| (scope.tenant(), id)).collect();
        let canceled = GiveUp {
            from: &[State::Pending, State::Waiting],
            failure: &EndReason::CANCELED.failure(None),
            tried: Some(EndReason::CANCELED.tried),
            at: now,
            expires_at: now + self.dead_letter_ttl,
        };
        let done = canceled.run(self.session_of(Some(scope.tenant())).await?, &keys).await;
        let (canceled, moved) = done.map_err(TxError::into_error)?;
        if moved {
            self.bells.ring_all();
        }
        Ok(canceled.len() as u64)
    }

    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>> {
        let keys: Vec<_> = ids.into_iter().map(|id| (scope.tenant(), id)).collect();
        let retried = self
            .retry_in_order(Retries {
                keys: &keys,
                only_dead: false,
                now,
                account: Some(scope.tenant()),
            })
            .await?;
        let answer = |key| retried.get(key).copied().unwrap_or(RetryOutcome::Unknown);
        Ok(keys.iter().map(answer).collect())
    }

    async fn count_deliveries(
        &self,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<DeliveryCounts> {
        let one = deliveries.first().map(|(tenant, _)| *tenant);
        let session = self.lists.next(one).await?;
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) =
            deliveries.iter().map(|(tenant, id)| (uuid(*tenant), uuid(*id))).unzip();
        let sql = "select d.state, count(*) from unnest($1::uuid[], $2::uuid[]) k(tenant_id, id)
            join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id group by d.state";
        let found = query(&session, sql, &[&tenants, &ids]).await.map_err(store_error)?;
        let mut tally = DeliveryCounts::default();
        for row in &found {
            tally.add(rows::state(row, 0)?, rows::get::<i64>(row, 1)? as u64);
        }
        Ok(tally)
    }
}

pub(crate) async fn list(
    session: &Session,
    sql: &str,
    conditions: &Conditions,
) -> Result<Vec<DeliveryRow>> {
    let found = query(session, sql, &conditions.values()).await;
    found.map_err(store_error)?.iter().map(rows::delivery).collect()
}

/// Builds the condition that restricts every joined table to one tenant.
pub(crate) fn of_parcels(scope: TenantScope) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.add("p.tenant_id = ?", uuid(scope.tenant()));
    conditions.add_plain("d.tenant_id = $1");
    conditions
}

fn from_deliveries(conditions: &Conditions) -> String {
    format!(
        "select {DELIVERY} from deliveries d
         join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
         {OUTCOME} where {}",
        conditions.sql()
    )
}

pub(crate) fn from_parcels(conditions: &Conditions, tail: &str) -> String {
    format!(
        "select {DELIVERY} from parcels p cross join lateral unnest(p.deliveries) as n(id)
         join deliveries d on d.tenant_id = p.tenant_id and d.id = n.id
         {OUTCOME} where {} {tail}",
        conditions.sql()
    )
}
