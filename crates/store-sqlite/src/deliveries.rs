//! Reading the log of deliveries, retrying and redelivering.

mod list;
mod retry;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, EndReason, EventId, ParcelId, State, TenantId, TenantScope, Time};
use gancho_store::{
    Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter,
    EventOutline, EventRow, EventView, NewDelivery, Page, PageRequest, Result, RetryOutcome,
};
use rusqlite::{Connection, Row, ToSql, params};

use crate::{
    SqliteStore,
    body_prefixes::body_prefixes,
    events, orphans,
    redeliver::redeliver,
    rows::{self, ATTEMPT, PARCEL, seq},
    scan::ScanBudget,
    states::{DEAD, PENDING, WAITING, sql},
    tx_error::TxError,
};

pub(crate) use self::{
    list::{failed_emails, page_of, page_of_all},
    retry::retry_in_order,
};

#[async_trait]
impl Deliveries for SqliteStore {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        self.read_for(Some(scope.tenant()), move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {PARCEL}, p.request FROM parcels p
                 WHERE p.seq = ?1 AND p.id = ?2 AND p.tenant_id = ?3"
            ))?;
            let mut found = find.query(params![seq(id), id.bytes(), scope.tenant().bytes()])?;
            let Some(row) = found.next()? else {
                return Ok(None);
            };
            let (parcel, number) = rows::parcel(row, 0)?;
            let deliveries = read(db, OF_PARCEL, &[&seq(id)])?;
            let request = row.get::<_, Option<Vec<u8>>>(12)?.map(Bytes::from);
            Ok(Some(EventView { parcel, number, deliveries, request }))
        })
        .await
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        self.read_for(Some(scope.tenant()), move |db| {
            let (key, tenant) = (id.bytes(), scope.tenant().bytes());
            let by: [&dyn ToSql; 3] = [&seq(id), &key, &tenant];
            let found = read(db, "WHERE d.seq = ?1 AND d.id = ?2 AND d.tenant_id = ?3", &by)?;
            let Some(row) = found.into_iter().next() else {
                return Ok(None);
            };
            let (parcel, number) = db
                .prepare_cached(&format!("SELECT {PARCEL} FROM parcels p WHERE p.seq = ?1"))?
                .query_row([seq(row.event)], |parcel| Ok(rows::parcel(parcel, 0)))??;
            let mut log = db.prepare_cached(&format!(
                "SELECT {ATTEMPT} FROM attempts WHERE delivery = ?1 ORDER BY number"
            ))?;
            let mut found = log.query([seq(id)])?;
            let mut attempts = Vec::new();
            while let Some(row) = found.next()? {
                attempts.push(rows::attempt(row)?);
            }
            Ok(Some(DeliveryView { row, parcel, number, attempts }))
        })
        .await
    }

    async fn delivery_owner(&self, id: DeliveryId) -> Result<Option<TenantId>> {
        self.read(move |db| {
            let mut find =
                db.prepare_cached("SELECT tenant_id FROM deliveries WHERE seq = ?1 AND id = ?2")?;
            let mut found = find.query(params![seq(id), id.bytes()])?;
            found.next()?.map(|row| rows::id(row, 0)).transpose()
        })
        .await
    }

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let mut budget = ScanBudget::new(self.max_scanned);
        let tenant = Some(scope.tenant());
        self.read_list(tenant, move |db| page_of(db, scope, &filter, &page, &mut budget)).await
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        let mut budget = ScanBudget::new(self.max_scanned);
        let tenant = Some(scope.tenant());
        self.read_list(tenant, move |db| {
            events::page_of(db, Some(scope), &filter, &page, &mut budget)
        })
        .await
    }

    async fn event_outlines(
        &self,
        scope: TenantScope,
        ids: Vec<EventId>,
    ) -> Result<Vec<EventOutline>> {
        self.read_list(Some(scope.tenant()), move |db| {
            let mut outlines = Vec::with_capacity(ids.len());
            for id in ids {
                let Some((row, size)) = events::outline(db, scope, id)? else { continue };
                let deliveries = read(db, OF_PARCEL, &[&seq(id)])?;
                outlines.push(EventOutline { row, size, deliveries });
            }
            Ok(outlines)
        })
        .await
    }

    async fn body_prefixes(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        max_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>> {
        self.read_list(Some(scope.tenant()), move |db| body_prefixes(db, scope, &ids, max_bytes))
            .await
    }

    async fn redeliver(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        let (account, rows) = (Some(scope.tenant()), deliveries.len() * ROWS_TO_REDELIVER);
        self.write_more_for(account, rows, move |tx| redeliver(tx, scope, event, &deliveries)).await
    }

    async fn retry_now(
        &self,
        scope: TenantScope,
        id: DeliveryId,
        now: Time,
    ) -> Result<RetryOutcome> {
        self.write_for(Some(scope.tenant()), 1, move |tx| {
            let mut find = tx.db.prepare_cached(
                "SELECT state FROM deliveries WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
            )?;
            let mut found = find.query(params![seq(id), id.bytes(), scope.tenant().bytes()])?;
            let Some(row) = found.next()? else {
                return Ok(RetryOutcome::Unknown);
            };
            if rows::state(row, 0)? == State::Leased {
                return Ok(RetryOutcome::InFlight);
            }
            retry::make_due(tx, seq(id), State::Pending, now)?;
            tx.ring();
            Ok(RetryOutcome::Due)
        })
        .await
    }

    async fn cancel(&self, scope: TenantScope, ids: Vec<DeliveryId>, now: Time) -> Result<u64> {
        let rows = ids.len() * ROWS_TO_CANCEL;
        self.write_for(Some(scope.tenant()), rows, move |tx| {
            let mut count = 0;
            for id in &ids {
                let mut find = tx.db.prepare_cached(sql!(
                    "SELECT 1 FROM deliveries WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3
                       AND state IN ({PENDING}, {WAITING})"
                ))?;
                if find.exists(params![seq(*id), id.bytes(), scope.tenant().bytes()])? {
                    orphans::end(tx, seq(*id), &EndReason::CANCELED, now)?;
                    count += 1;
                }
            }
            Ok(count)
        })
        .await
    }

    async fn count_deliveries(
        &self,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<DeliveryCounts> {
        self.read_list(only_tenant(&deliveries), move |db| {
            let mut find = db.prepare_cached(
                "SELECT state FROM deliveries WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
            )?;
            let mut tally = DeliveryCounts::default();
            for (tenant, id) in &deliveries {
                let mut found = find.query(params![seq(*id), id.bytes(), tenant.bytes()])?;
                if let Some(row) = found.next()? {
                    tally.add(rows::state(row, 0)?, 1);
                }
            }
            Ok(tally)
        })
        .await
    }

    async fn retry_now_in_order(
        &self,
        scope: TenantScope,
        ids: Vec<DeliveryId>,
        now: Time,
    ) -> Result<Vec<RetryOutcome>> {
        self.write_for(Some(scope.tenant()), 2 * ids.len(), move |tx| {
            let mut rows = Vec::with_capacity(ids.len());
            for id in &ids {
                let mut find = tx.db.prepare_cached(
                    "SELECT 1 FROM deliveries WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
                )?;
                let is_there =
                    find.exists(params![seq(*id), id.bytes(), scope.tenant().bytes()])?;
                rows.push(is_there.then(|| seq(*id)));
            }
            let known: Vec<i64> = rows.iter().flatten().copied().collect();
            let mut retried = retry_in_order(tx, &known, now)?.into_iter();
            let answer = |row: Option<i64>| row.and_then(|_| retried.next());
            Ok(rows
                .into_iter()
                .map(answer)
                .map(|one| one.unwrap_or(RetryOutcome::Unknown))
                .collect())
        })
        .await
    }
}

/// A canceled delivery changes, and gets a dead letter.
const ROWS_TO_CANCEL: usize = 2;
/// A redelivery writes the parcel again, with its body and the list of its deliveries.
const ROWS_TO_REDELIVER: usize = 8;

/// Returns the tenant that has all of the deliveries; `None`, the operator, if several have them.
fn only_tenant(deliveries: &[(TenantId, DeliveryId)]) -> Option<TenantId> {
    let (tenant, _) = *deliveries.first()?;
    deliveries.iter().all(|(of, _)| *of == tenant).then_some(tenant)
}

const OF_PARCEL: &str = "WHERE d.seq IN
    (SELECT j.value FROM parcels q, json_each(q.deliveries) j WHERE q.seq = ?1) ORDER BY d.seq";

/// Runs a query over `d` (deliveries).
fn read(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<DeliveryRow>, TxError> {
    let mut list = db.prepare_cached(&format!(
        "SELECT d.id, d.lane, d.target_id, p.id, p.event_type, p.external_id, p.is_test, d.state,
           d.attempts, a.response_status, coalesce(l.code, a.code),
           coalesce(l.reason, a.reason), a.next_at, a.started_at, a.latency_us,
           d.created_at, l.failed_at, d.due_at
         FROM deliveries d CROSS JOIN parcels p ON p.seq = d.parcel
         LEFT JOIN attempts a ON a.delivery = d.seq AND a.number = d.attempts
         LEFT JOIN dead_letters l ON l.delivery = d.seq AND d.state = {DEAD} {sql}"
    ))?;
    let mut found = list.query(values)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(delivery_row(row)?);
    }
    Ok(rows)
}

fn delivery_row(row: &Row<'_>) -> Result<DeliveryRow, TxError> {
    let state = rows::state(row, 7)?;
    let ended_at = rows::maybe_time(row, 13)?
        .zip(row.get::<_, Option<i64>>(14)?)
        .map(|(start, micros)| start + std::time::Duration::from_micros(micros as u64));
    Ok(DeliveryRow {
        id: rows::id(row, 0)?,
        lane: rows::lane(row, 1)?,
        target: rows::id(row, 2)?,
        event: rows::id(row, 3)?,
        event_type: row.get(4)?,
        external_id: row.get(5)?,
        is_test: row.get(6)?,
        state,
        attempts: row.get(8)?,
        response_status: row.get(9)?,
        last_failure: rows::failure(row, 10, 11)?,
        due_at: rows::time(row, 17)?,
        next_retry_at: rows::maybe_time(row, 12)?.filter(|_| !state.is_final()),
        delivered_at: ended_at.filter(|_| state == State::Delivered),
        failed_at: rows::maybe_time(row, 16)?.or(ended_at).filter(|_| state == State::Dead),
        created_at: rows::time(row, 15)?,
    })
}
