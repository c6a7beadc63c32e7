//! Reading the log, and arming a delivery anew.

use std::cmp::Reverse;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, EventId, Id, Lane, ParcelId, State, Status, TenantScope, Time};
use gancho_store::{
    Deliveries, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter, EventRow, EventView,
    NewDelivery, Page, PageRequest, Rearmed, Result, TargetId,
};
use rusqlite::{Connection, Row, ToSql, params};

use crate::{
    SqliteStore, events,
    fault::Fault,
    openings::openings,
    rows::{self, ATTEMPT, PARCEL, seq},
    send_again::send_again,
    spans::{self, SPAN_BITS},
    terms::Terms,
};

#[async_trait]
impl Deliveries for SqliteStore {
    async fn event(&self, scope: TenantScope, id: EventId) -> Result<Option<EventView>> {
        self.read(move |db| {
            let mut find = db.prepare_cached(&format!(
                "SELECT {PARCEL} FROM parcels p WHERE p.seq = ?1 AND p.id = ?2 AND p.tenant_id = ?3"
            ))?;
            let mut found = find.query(params![seq(id), id.bytes(), scope.tenant().bytes()])?;
            let Some(row) = found.next()? else {
                return Ok(None);
            };
            let (parcel, number) = rows::parcel(row, 0)?;
            let deliveries = list(db, ALL, OF_PARCEL, &[&seq(id)])?;
            Ok(Some(EventView { parcel, number, deliveries }))
        })
        .await
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        self.read(move |db| {
            let (key, tenant) = (id.bytes(), scope.tenant().bytes());
            let by: [&dyn ToSql; 3] = [&seq(id), &key, &tenant];
            let found = list(db, ALL, "WHERE d.seq = ?1 AND d.id = ?2 AND d.tenant_id = ?3", &by)?;
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

    async fn deliveries(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        self.read(move |db| {
            let mut rows = filtered(db, scope, &filter, &page)?;
            let more = rows.len() > page.most;
            rows.truncate(page.most);
            let next = rows.last().filter(|_| more).map(|last| place(last.id));
            Ok(Page { rows, next })
        })
        .await
    }

    async fn events(
        &self,
        scope: TenantScope,
        filter: EventFilter,
        page: PageRequest,
    ) -> Result<Page<EventRow>> {
        self.read(move |db| events::page_of(db, scope, &filter, &page)).await
    }

    async fn openings(
        &self,
        scope: TenantScope,
        ids: Vec<ParcelId>,
        most_bytes: usize,
    ) -> Result<Vec<(ParcelId, Bytes)>> {
        self.read(move |db| openings(db, scope, &ids, most_bytes)).await
    }

    async fn send_again(
        &self,
        scope: TenantScope,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> Result<bool> {
        self.write_more(move |tx| send_again(tx, scope, event, &deliveries)).await
    }

    async fn rearm(&self, scope: TenantScope, id: DeliveryId, now: Time) -> Result<Rearmed> {
        self.write(move |tx| {
            let mut find = tx.db.prepare_cached(
                "SELECT state FROM deliveries WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
            )?;
            let mut found = find.query(params![seq(id), id.bytes(), scope.tenant().bytes()])?;
            let Some(row) = found.next()? else {
                return Ok(Rearmed::Unknown);
            };
            if rows::state(row, 0)? == State::Leased {
                return Ok(Rearmed::InFlight);
            }
            rearm(tx.db, seq(id), now)?;
            tx.ring();
            Ok(Rearmed::Due)
        })
        .await
    }
}

/// Due now; one that had ended begins its plan anew.
pub(crate) fn rearm(db: &Connection, seq: i64, now: Time) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE deliveries SET attempts_before = CASE WHEN state >= 5 THEN attempts
           ELSE attempts_before END, state = 2, due_at = ?2, lost_leases = 0 WHERE seq = ?1",
    )?
    .execute(params![seq, now.micros()])?;
    Ok(())
}

/// The 32 bytes by which a page says where the next begins.
pub(crate) fn place<K>(id: Id<K>) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

pub(crate) fn place_id(place: &[u8; 32]) -> DeliveryId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    Id::from_bytes(bytes)
}

const OF_PARCEL: &str = "WHERE d.seq IN
    (SELECT j.value FROM parcels q, json_each(q.deliveries) j WHERE q.seq = ?1) ORDER BY d.seq";

const ALL: &str = "deliveries d";
/// A target's deliveries lie in its spans (see `spans.rs`), the newest first if both are read backwards.
const BY_SPAN: &str = "spans s CROSS JOIN deliveries d";

/// Those of an event or of a few are found through their parcels.
fn of_parcel(filter: &DeliveryFilter) -> bool {
    filter.event.is_some() || filter.external_id.is_some()
}

/// Those that failed have an index of their own.
fn by_span(filter: &DeliveryFilter) -> bool {
    !of_parcel(filter) && filter.status != Some(Status::Failed)
}

/// In which spans to look. Bound after the tenant, the target and the lane, the first three values.
fn add_spans(terms: &mut Terms, filter: &DeliveryFilter, page: &PageRequest) {
    terms.add_plain("s.tenant_id = ?1 AND s.target_id = ?2 AND s.lane = ?3");
    terms.add_plain(&format!(
        "d.seq >= s.span << {SPAN_BITS} AND d.seq < (s.span + 1) << {SPAN_BITS}"
    ));
    if let Some(place) = &page.after {
        terms.add("s.span <= $", seq(place_id(place)) >> SPAN_BITS);
    }
    if let Some(since) = filter.since {
        terms.add("s.span >= $", rows::first_seq_at(since) >> SPAN_BITS);
    }
    if let Some(until) = filter.until {
        terms.add("s.span <= $", rows::last_seq_at(until) >> SPAN_BITS);
    }
}

/// One page and one row more, newest first.
fn filtered(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> Result<Vec<DeliveryRow>, Fault> {
    let ways = if of_parcel(filter) {
        vec![(filter.endpoint, filter.lane)]
    } else {
        let ways = spans::ways(db, scope, filter.endpoint, filter.lane)?;
        ways.into_iter().map(|(target, lane)| (Some(target), Some(lane))).collect()
    };
    let mut rows = Vec::new();
    for way in ways {
        let terms = terms(scope, filter, way, page);
        let (from, order) = if by_span(filter) {
            (BY_SPAN, "s.span DESC, d.seq DESC")
        } else {
            (ALL, "d.seq DESC")
        };
        let sql = format!("WHERE {} ORDER BY {order} LIMIT {}", terms.sql(), page.most + 1);
        rows.extend(list(db, from, &sql, &terms.values())?);
    }
    rows.sort_unstable_by_key(|row| Reverse(seq(row.id)));
    Ok(rows)
}

fn terms(
    scope: TenantScope,
    filter: &DeliveryFilter,
    (target, lane): (Option<TargetId>, Option<Lane>),
    page: &PageRequest,
) -> Terms {
    let mut terms = Terms::default();
    // The plus keeps SQLite from reading all that failed of the tenant's where a parcel is asked for.
    let tenant = if of_parcel(filter) { "+d.tenant_id = $" } else { "d.tenant_id = $" };
    terms.add(tenant, scope.tenant().bytes());
    if let Some(target) = target {
        terms.add("d.target_id = $", target.bytes());
    }
    if let Some(lane) = lane {
        terms.add("d.lane = $", lane.number());
    }
    if let Some(place) = &page.after {
        terms.add("d.seq < $", seq(place_id(place)));
    }
    if by_span(filter) {
        add_spans(&mut terms, filter, page);
    }
    if let Some(event) = filter.event {
        terms.add(
            "d.seq IN (SELECT j.value FROM parcels q, json_each(q.deliveries) j WHERE q.seq = $)",
            seq(event),
        );
        terms.add("p.id = $", event.bytes());
    }
    if let Some(event_type) = &filter.event_type {
        terms.add("p.event_type = $", event_type.clone());
    }
    if let Some(external_id) = &filter.external_id {
        // Through its parcels rather than through every delivery of the tenant.
        terms.add(
            "d.seq IN (SELECT j.value FROM parcels q, json_each(q.deliveries) j
               WHERE q.seq IN
                 (SELECT n.parcel FROM named n WHERE n.tenant_id = ?1 AND n.external_id = $))",
            external_id.clone(),
        );
    }
    if let Some(since) = filter.since {
        terms.add("d.created_at >= $", since.micros());
    }
    if let Some(until) = filter.until {
        terms.add("d.created_at < $", until.micros());
    }
    if let Some(status) = filter.status {
        terms.add_plain(match status {
            Status::Pending => "d.state < 5 AND d.attempts = 0",
            Status::Retrying => "d.state < 5 AND d.attempts > 0",
            Status::Delivered => "d.state = 5",
            Status::Failed => "d.state = 6",
        });
    }
    terms
}

fn list(
    db: &Connection,
    from: &str,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Vec<DeliveryRow>, Fault> {
    let mut list = db.prepare_cached(&format!(
        "SELECT d.id, d.lane, d.target_id, p.id, p.event_type, p.external_id, p.is_test, d.state,
           d.attempts, a.response_status, coalesce(l.code, a.code),
           coalesce(l.reason, a.reason), a.next_at, a.started_at, a.latency_us,
           d.created_at, l.failed_at
         FROM {from} CROSS JOIN parcels p ON p.seq = d.parcel
         LEFT JOIN attempts a ON a.delivery = d.seq AND a.number = d.attempts
         LEFT JOIN dead_letters l ON l.delivery = d.seq AND d.state = 6 {sql}"
    ))?;
    let mut found = list.query(values)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(delivery_row(row)?);
    }
    Ok(rows)
}

fn delivery_row(row: &Row<'_>) -> Result<DeliveryRow, Fault> {
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
        next_retry_at: rows::maybe_time(row, 12)?.filter(|_| !state.is_final()),
        delivered_at: ended_at.filter(|_| state == State::Delivered),
        failed_at: rows::maybe_time(row, 16)?.or(ended_at).filter(|_| state == State::Dead),
        created_at: rows::time(row, 15)?,
    })
}
