//! A tenant's events, newest first or oldest first.
//!
//! Parcels have no index by tenant, because every parcel would have to be written to it, for lists alone. An
//! event with deliveries is found in the time buckets of its lane (see `time_buckets.rs`). An event that
//! matched no endpoint is in no bucket, and is found by an index of such events alone, where it stays if it
//! is sent to some later.

use std::collections::VecDeque;

use gancho_domain::{EventId, TenantScope, Time};
use gancho_store::{EventFilter, EventRow, Page, PageRequest};
use rusqlite::{Connection, Row, ToSql};

use crate::{
    rows,
    scan::{Direction, PARCEL_COST, RowScan, ScanBudget, ScanExtent, Search, page},
    time_buckets,
    tx_error::TxError,
};

pub(crate) fn page_of(
    db: &Connection,
    scope: Option<TenantScope>,
    filter: &EventFilter,
    request: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<EventRow>, TxError> {
    let indexes = if scope.is_none() {
        vec![EventIndex::Table]
    } else if filter.external_id.is_some() {
        vec![EventIndex::Named]
    } else if filter.is_unmatched {
        vec![EventIndex::Unmatched]
    } else {
        vec![EventIndex::Unmatched, EventIndex::TimeBuckets]
    };
    let direction = Direction(request.order);
    let first = filter.since.map_or(0, rows::first_seq_at);
    let end = filter.until.map_or(i64::MAX, rows::last_seq_at);
    let below = direction.start(request.after.as_ref().map(read_place), first, end);
    let events = |index| Events { db, scope, filter, index, direction, first, end };
    let mut search = Search::new(indexes.into_iter().map(events).collect(), below, request.max);
    let read = |key| event_at(db, direction.key(key));
    let (rows, next) = page(&mut search, request.max, budget, read)?;
    Ok(Page { rows, next: next.map(|key| write_place(direction.key(key))) })
}

fn write_place(last: i64) -> [u8; 32] {
    let mut place = [0; 32];
    place[..8].copy_from_slice(&last.to_be_bytes());
    place
}

fn read_place(place: &[u8; 32]) -> i64 {
    let mut last = [0; 8];
    last.copy_from_slice(&place[..8]);
    i64::from_be_bytes(last)
}

struct Events<'a> {
    db: &'a Connection,
    /// `None`: of all tenants.
    scope: Option<TenantScope>,
    filter: &'a EventFilter,
    index: EventIndex,
    direction: Direction,
    /// The lowest row number that can be in the requested time.
    first: i64,
    /// One more than the highest row number that can be in the requested time.
    end: i64,
}

#[derive(Debug, Clone, Copy)]
enum EventIndex {
    /// The time buckets of the lane, for events that matched an endpoint.
    TimeBuckets,
    /// The index of events that matched none.
    Unmatched,
    /// By the publisher's own id.
    Named,
    /// The whole table, which is in order of time, for events of all tenants.
    Table,
}

/// The statement returns for each row whether it matches, rather than only matches, so that others are
/// counted too.
macro_rules! look {
    ($where:literal) => {
        concat!(
            "SELECT p.seq, CASE WHEN p.tenant_id <> ?1 THEN 0
               WHEN p.kind <> ?2 OR (?3 IS NOT NULL AND p.event_type <> ?3)
                 OR (?4 IS NOT NULL AND p.external_id IS NOT ?4)
                 OR (?5 AND octet_length(p.deliveries) <> 2)
                 OR p.created_at < ?6 OR p.created_at >= ?7 THEN 1
               WHEN octet_length(p.deliveries) = 2 OR p.sent_later THEN 2 ELSE 3 END
             FROM parcels p ",
            $where,
            " ORDER BY p.seq {order} LIMIT ?10"
        )
    };
}

/// It matches, and is in the index of unmatched events.
const UNMATCHED_FITS: i64 = 2;
/// It matches, and is not in that index.
const FITS: i64 = 3;

const IN_TABLE: &str = look!("WHERE p.seq < ?8 AND p.seq >= ?9");

const UNMATCHED: &str = look!(
    "INDEXED BY parcels_unmatched
     WHERE (p.deliveries = '[]' OR p.sent_later) AND p.tenant_id = ?1 AND p.seq < ?8 AND p.seq >= ?9"
);

/// During a flush, an id may be in both the buffer and the tree, and a removed one may still be in one of
/// them: see external_ids.rs.
const NAMED: &str = look!(
    "WHERE p.seq IN (SELECT n.parcel FROM named n
       WHERE n.tenant_id = ?1 AND n.external_id = ?4 AND n.parcel < ?8 AND n.parcel >= ?9
         AND EXISTS (SELECT 1 FROM parcels q WHERE q.seq = n.parcel)
       ORDER BY n.parcel {order} LIMIT 2 * ?10)"
);

impl RowScan for Events<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let sql = match self.index {
            EventIndex::TimeBuckets => return self.follow_buckets(below, step, budget, found),
            EventIndex::Unmatched => UNMATCHED,
            EventIndex::Named => NAMED,
            EventIndex::Table => IN_TABLE,
        };
        let rows = self.direction.rows_below(below, self.first, self.end);
        let (count, last) = self.scan_rows(sql, rows, step, budget, found)?;
        Ok(last.filter(|_| count == step).map_or(ScanExtent::End, ScanExtent::DownTo))
    }
}

impl Events<'_> {
    /// Scans one range of the table at a time.
    fn follow_buckets(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let direction = self.direction;
        let within =
            time_buckets::BucketFilter { target: None, lane: Some(self.filter.kind.lane()) };
        let rows = direction.rows_below(below, self.first, self.end);
        let Some(scope) = self.scope else { return Ok(ScanExtent::End) };
        let Some(bucket) = time_buckets::next(self.db, scope, within, rows, direction)? else {
            return Ok(ScanExtent::End);
        };
        budget.spend(1);
        let (rows, reached) = time_buckets::rows_of(bucket, below, direction);
        let (count, last) = self.scan_rows(IN_TABLE, rows, step, budget, found)?;
        Ok(ScanExtent::DownTo(last.filter(|_| count == step).unwrap_or(reached)))
    }

    /// Returns how many rows it scanned and the key of the last.
    fn scan_rows(
        &self,
        sql: &str,
        (first, end): (i64, i64),
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<(usize, Option<i64>), TxError> {
        let filter = self.filter;
        let values: [&dyn ToSql; 10] = [
            // Null if the list is of all tenants; no tenant differs from null in the statement.
            &self.scope.map(|scope| scope.tenant().bytes()),
            &filter.kind.number(),
            &filter.event_type,
            &filter.external_id,
            &filter.is_unmatched,
            &filter.since.map_or(i64::MIN, Time::micros),
            &filter.until.map_or(i64::MAX, Time::micros),
            &end,
            &first,
            &(step as i64),
        ];
        let sql = sql.replace("{order}", self.direction.word());
        let mut look = self.db.prepare_cached(&sql)?;
        let mut rows = look.query(&values[..])?;
        let (mut count, mut last) = (0, None);
        while let Some(row) = rows.next()? {
            let (number, fit): (i64, i64) = (row.get(0)?, row.get(1)?);
            // Other tenants' rows are skipped by their first columns; of the tenant's own more is read.
            budget.spend(if fit == 0 { 1 } else { PARCEL_COST });
            // In a bucket, events in the index of unmatched ones are skipped, because that index has them.
            if fit == FITS
                || fit == UNMATCHED_FITS && !matches!(self.index, EventIndex::TimeBuckets)
            {
                found.push_back(self.direction.key(number));
            }
            count += 1;
            last = Some(self.direction.key(number));
        }
        Ok((count, last))
    }
}

fn event_at(db: &Connection, row: i64) -> Result<Option<EventRow>, TxError> {
    let mut find = db.prepare_cached(
        "SELECT p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test,
           json_array_length(p.deliveries), p.created_at FROM parcels p WHERE p.seq = ?1",
    )?;
    let mut found = find.query([row])?;
    found.next()?.map(event).transpose()
}

/// Returns an event and the size of its data, which is known without reading it.
pub(crate) fn outline(
    db: &Connection,
    scope: TenantScope,
    id: EventId,
) -> Result<Option<(EventRow, usize)>, TxError> {
    let mut find = db.prepare_cached(
        "SELECT p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test,
           json_array_length(p.deliveries), p.created_at, octet_length(p.body)
         FROM parcels p WHERE p.seq = ?1 AND p.id = ?2 AND p.tenant_id = ?3",
    )?;
    let mut found =
        find.query(rusqlite::params![rows::seq(id), id.bytes(), scope.tenant().bytes()])?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some((event(row)?, row.get::<_, i64>(8)? as usize)))
}

fn event(row: &Row<'_>) -> Result<EventRow, TxError> {
    Ok(EventRow {
        id: rows::id(row, 0)?,
        event_type: row.get(1)?,
        subject: row.get(2)?,
        external_id: row.get(3)?,
        number: row.get::<_, Option<i64>>(4)?.map(|number| number as u64),
        is_test: row.get(5)?,
        deliveries: row.get::<_, i64>(6)? as u64,
        created_at: rows::time(row, 7)?,
    })
}
