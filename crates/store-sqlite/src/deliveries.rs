//! Reading the log, and arming a delivery anew.

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EventId, Id, State, Status, TenantScope, Time};
use gancho_store::{
    Deliveries, DeliveryFilter, DeliveryRow, DeliveryView, EventView, Page, PageRequest, Rearmed,
    Result,
};
use rusqlite::{Connection, Row, ToSql, params};

use crate::{
    SqliteStore,
    fault::Fault,
    rows::{self, ATTEMPT, PARCEL, seq},
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
            let deliveries = list(db, "WHERE d.parcel = ?1 ORDER BY d.seq", &[&seq(id)])?;
            Ok(Some(EventView {
                parcel,
                number,
                deliveries,
            }))
        })
        .await
    }

    async fn delivery(&self, scope: TenantScope, id: DeliveryId) -> Result<Option<DeliveryView>> {
        self.read(move |db| {
            let (key, tenant) = (id.bytes(), scope.tenant().bytes());
            let by: [&dyn ToSql; 3] = [&seq(id), &key, &tenant];
            let found = list(
                db,
                "WHERE d.seq = ?1 AND d.id = ?2 AND d.tenant_id = ?3",
                &by,
            )?;
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
            Ok(Some(DeliveryView {
                row,
                parcel,
                number,
                attempts,
            }))
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
           ELSE attempts_before END, state = 2, due_at = ?2 WHERE seq = ?1",
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

fn filtered(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> Result<Vec<DeliveryRow>, Fault> {
    let mut wheres = vec!["d.tenant_id = ?1".to_owned()];
    let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(scope.tenant().bytes())];
    let mut narrow = |sql: &str, value: Box<dyn ToSql>| {
        values.push(value);
        wheres.push(sql.replace('$', &format!("?{}", values.len())));
    };
    if let Some(place) = &page.after {
        narrow("d.seq < $", Box::new(seq(place_id(place))));
    }
    if let Some(endpoint) = filter.endpoint {
        narrow("d.target_id = $", Box::new(endpoint.bytes()));
    }
    if let Some(event) = filter.event {
        narrow("d.parcel = $", Box::new(seq(event)));
        narrow("p.id = $", Box::new(event.bytes()));
    }
    if let Some(event_type) = &filter.event_type {
        narrow("p.event_type = $", Box::new(event_type.clone()));
    }
    if let Some(external_id) = &filter.external_id {
        // Through the index on parcels rather than through every delivery of the tenant.
        narrow(
            "d.parcel IN (SELECT seq FROM parcels WHERE tenant_id = ?1 AND external_id = $)",
            Box::new(external_id.clone()),
        );
    }
    if let Some(since) = filter.since {
        narrow("d.created_at >= $", Box::new(since.micros()));
    }
    if let Some(until) = filter.until {
        narrow("d.created_at < $", Box::new(until.micros()));
    }
    if let Some(status) = filter.status {
        wheres.push(
            match status {
                Status::Pending => "d.state < 5 AND d.attempts = 0",
                Status::Retrying => "d.state < 5 AND d.attempts > 0",
                Status::Delivered => "d.state = 5",
                Status::Failed => "d.state = 6",
            }
            .to_owned(),
        );
    }
    let sql = format!(
        "WHERE {} ORDER BY d.seq DESC LIMIT {}",
        wheres.join(" AND "),
        page.most + 1
    );
    let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
    list(db, &sql, &values)
}

fn list(db: &Connection, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<DeliveryRow>, Fault> {
    let mut list = db.prepare_cached(&format!(
        "SELECT d.id, d.lane, d.target_id, p.id, p.event_type, p.external_id, p.is_test, d.state,
           d.attempts, a.response_status, a.code, a.reason, a.next_at, a.started_at, a.latency_us,
           d.created_at
         FROM deliveries d JOIN parcels p ON p.seq = d.parcel
         LEFT JOIN attempts a ON a.delivery = d.seq AND a.number = d.attempts {sql}"
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
        created_at: rows::time(row, 15)?,
    })
}
