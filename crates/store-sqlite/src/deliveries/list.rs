//! Pages of the deliveries of a tenant or of all tenants, newest first or oldest first.
//!
//! Deliveries of a lane or a target are in its time buckets (see `time_buckets.rs`), among others. Failed
//! ones have indexes of their own; those of an event are listed in its parcel. If the filter has a
//! publisher's own id, the list is ordered by event, and within it by delivery.

mod fit;
mod reported;
mod table;

use std::collections::VecDeque;

use gancho_domain::{DeliveryId, Id, Lane, Status, TenantScope, Time};
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest, TargetId};
use rusqlite::{Connection, ToSql, params};

use self::{
    fit::{BODY_SIZE, COST_OF_BYTES, FITS, READ_BODY, READ_PARCEL, fit},
    reported::ReportScan,
    table::TableScan,
};
pub(crate) use self::{reported::failed_emails, table::page_of_all};
use super::read;
use crate::{
    rows::{self, seq},
    scan::{BODY_COST, Direction, PARCEL_COST, RowScan, ScanBudget, ScanExtent, Search, page},
    states::DEAD,
    time_buckets,
    tx_error::TxError,
};

pub(crate) fn page_of(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    request: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<DeliveryRow>, TxError> {
    if filter.external_id.is_some() && filter.event.is_none() {
        return named(db, scope, filter, request, budget);
    }
    let list = ListQuery { db, scope: Some(scope), filter, direction: Direction(request.order) };
    list.page(list.scans(scope), request, budget)
}

/// Lists the deliveries of events with an external id. Several events may have the same id; they are read one
/// after the other.
fn named(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    request: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<DeliveryRow>, TxError> {
    let direction = Direction(request.order);
    let list = ListQuery { db, scope: Some(scope), filter, direction };
    // The page before ended within this event, after this delivery.
    let mut after = request.after.as_ref().map(place_of_named);
    // An event may have been sent again long after it was created, so no event is too old.
    let mut last = direction.start(None, 0, list.end());
    last = after.map_or(last, |(event, _)| direction.key(event).min(last));
    let mut rows = Vec::new();
    loop {
        let events = list.events_named(last)?;
        let Some(farthest) = events.last().copied() else { return Ok(Page { rows, next: None }) };
        for event in events {
            let within = after.take().filter(|after| after.0 == event);
            let below = direction.start(within.map(|(_, delivery)| delivery), 0, i64::MAX);
            let max = request.max - rows.len();
            let mut search = Search::new(vec![EventScan { list, event }], below, max);
            budget.spend(PARCEL_COST);
            let (found, next) = page(&mut search, max, budget, |key| list.row(key))?;
            rows.extend(found);
            if let Some(next) = next {
                let place = place_in_named(event, direction.key(next));
                return Ok(Page { rows, next: Some(place) });
            }
            if budget.are_spent() {
                let behind_all = if direction.is_newest_first() { 0 } else { i64::MAX };
                return Ok(Page { rows, next: Some(place_in_named(event, behind_all)) });
            }
        }
        last = direction.key(farthest) - 1;
    }
}

/// A list query: the filter, and whose deliveries it searches.
#[derive(Clone, Copy)]
struct ListQuery<'a> {
    db: &'a Connection,
    /// `None`: of all tenants.
    scope: Option<TenantScope>,
    filter: &'a DeliveryFilter,
    direction: Direction,
}

enum DeliveryScan<'a> {
    Table(TableScan<'a>),
    Buckets(BucketScan<'a>),
    Failed(FailureScan<'a>),
    Event(EventScan<'a>),
    Reported(ReportScan<'a>),
}

/// The time buckets of a target or of a lane, or all of the tenant's.
struct BucketScan<'a> {
    list: ListQuery<'a>,
    scope: TenantScope,
}

/// The index of failed deliveries of a target or of a lane.
struct FailureScan<'a> {
    list: ListQuery<'a>,
    of: Result<TargetId, Lane>,
}

struct EventScan<'a> {
    list: ListQuery<'a>,
    /// The row number of its parcel.
    event: i64,
}

impl<'a> ListQuery<'a> {
    fn scans(self, scope: TenantScope) -> Vec<DeliveryScan<'a>> {
        let Self { filter, .. } = self;
        if let Some(event) = filter.event {
            return vec![DeliveryScan::Event(EventScan { list: self, event: seq(event) })];
        }
        if filter.status != Some(Status::Failed) {
            return vec![DeliveryScan::Buckets(BucketScan { list: self, scope })];
        }
        let failed = |of| DeliveryScan::Failed(FailureScan { list: self, of });
        match (filter.endpoint, filter.lane) {
            (Some(target), _) => vec![failed(Ok(target))],
            (None, Some(lane)) => vec![failed(Err(lane))],
            (None, None) => Lane::ALL.map(|lane| failed(Err(lane))).into(),
        }
    }

    fn page(
        self,
        scans: Vec<DeliveryScan<'_>>,
        request: &PageRequest,
        budget: &mut ScanBudget,
    ) -> Result<Page<DeliveryRow>, TxError> {
        let direction = self.direction;
        let after = request.after.as_ref().map(|place| seq(place_id(place)));
        let below = direction.start(after, self.lowest(), self.end());
        let mut search = Search::new(scans, below, request.max);
        let (rows, next) = page(&mut search, request.max, budget, |key| self.row(key))?;
        Ok(Page { rows, next: next.map(|key| place(rows::first_id(direction.key(key)))) })
    }

    fn row(&self, key: i64) -> Result<Option<DeliveryRow>, TxError> {
        Ok(read(self.db, "WHERE d.seq = ?1", &[&self.direction.key(key)])?.pop())
    }

    /// Returns the tenant's id, or null if the list is of all tenants. No tenant differs from null in the statement.
    fn tenant(&self) -> Option<[u8; 16]> {
        self.scope.map(|scope| scope.tenant().bytes())
    }

    /// Returns the lowest row number that can be in the requested time.
    fn lowest(&self) -> i64 {
        self.filter.since.map_or(0, rows::first_seq_at)
    }

    /// Returns one more than the highest row number that can be in the requested time.
    fn end(&self) -> i64 {
        self.filter.until.map_or(i64::MAX, rows::last_seq_at)
    }

    /// Returns a few events that have the id, from this key on.
    fn events_named(&self, last: i64) -> Result<Vec<i64>, TxError> {
        let (from, to) = self.direction.rows_below(last.saturating_add(1), 0, i64::MAX);
        let word = self.direction.word();
        let mut find = self.db.prepare_cached(&format!(
            "SELECT DISTINCT n.parcel FROM named n
             WHERE n.tenant_id = ?1 AND n.external_id = ?2 AND n.parcel >= ?3 AND n.parcel < ?4
             ORDER BY n.parcel {word} LIMIT 500"
        ))?;
        let values = params![self.tenant(), self.filter.external_id, from, to];
        let found = find.query_map(values, |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Scans `step` rows of the table in a range. Returns the key of the last, or `None` if there are no more.
    fn scan_between(
        &self,
        (first, end): (i64, i64),
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<Option<i64>, TxError> {
        let from = format!(
            "deliveries d WHERE d.seq >= ?14 AND d.seq < ?15 ORDER BY d.seq {} LIMIT ?16",
            self.direction.word()
        );
        let (count, last) =
            self.scan_rows(&from, &[&first, &end, &(step as i64)], budget, found)?;
        Ok(last.filter(|_| count >= step))
    }

    /// Scans the rows of a statement, whose parameters 1 to 13 are bound here and the others by `more`.
    /// Returns how many there were, or `usize::MAX` if there may be more, and the key of the last.
    fn scan_rows(
        &self,
        from: &str,
        more: &[&dyn ToSql],
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<(usize, Option<i64>), TxError> {
        let filter = self.filter;
        let parcels = filter.event_type.is_some()
            || filter.event_type_prefix.is_some()
            || filter.external_id.is_some()
            || filter.subject.is_some();
        let outcomes = filter.error_code.is_some() || filter.response_status.is_some();
        let text = filter.text.as_deref().map(str::as_bytes);
        let fit = fit(filter.status, parcels, outcomes, text.is_some());
        let size = if text.is_some() { BODY_SIZE } else { "0" };
        let sql = format!("SELECT d.seq, {fit}, {size} FROM {from}");
        let mut look = self.db.prepare_cached(&sql)?;
        let (tenant, target) = (self.tenant(), filter.endpoint.map(Id::bytes));
        let event = filter.event.map(Id::bytes);
        let mut values: Vec<&dyn ToSql> = vec![&tenant, &target];
        let (lane, since, until) = (
            filter.lane.map(Lane::number),
            filter.since.map_or(i64::MIN, Time::micros),
            filter.until.map_or(i64::MAX, Time::micros),
        );
        values.extend::<[&dyn ToSql; 3]>([&lane, &since, &until]);
        values.extend::<[&dyn ToSql; 4]>([&filter.event_type, &filter.external_id, &event, &text]);
        values.extend::<[&dyn ToSql; 4]>([
            &filter.subject,
            &filter.error_code,
            &filter.response_status,
            &filter.event_type_prefix,
        ]);
        values.extend(more);
        let mut rows = look.query(&*values)?;
        let (mut count, mut last) = (0, None);
        while let Some(row) = rows.next()? {
            let (number, fit): (i64, i64) = (row.get(0)?, row.get(1)?);
            budget.spend(match fit {
                READ_BODY.. if text.is_some() => {
                    BODY_COST + row.get::<_, i64>(2)? as usize / COST_OF_BYTES
                }
                READ_PARCEL.. if parcels || outcomes => PARCEL_COST,
                _ => 1,
            });
            if fit == FITS {
                found.push_back(self.direction.key(number));
            }
            count += 1;
            last = Some(self.direction.key(number));
            // A body may be large, so a search of bodies may end within a step.
            if text.is_some() && budget.are_spent() {
                return Ok((usize::MAX, last));
            }
        }
        Ok((count, last))
    }
}

impl RowScan for DeliveryScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        match self {
            Self::Table(row_scan) => row_scan.follow(below, step, budget, found),
            Self::Buckets(row_scan) => row_scan.follow(below, step, budget, found),
            Self::Failed(row_scan) => row_scan.follow(below, step, budget, found),
            Self::Event(row_scan) => row_scan.follow(below, step, budget, found),
            Self::Reported(row_scan) => row_scan.follow(below, step, budget, found),
        }
    }
}

/// One range of the table at a time.
impl RowScan for BucketScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let ListQuery { db, filter, direction, .. } = self.list;
        let within = time_buckets::BucketFilter { target: filter.endpoint, lane: filter.lane };
        let rows = direction.rows_below(below, self.list.lowest(), self.list.end());
        let Some(bucket) = time_buckets::next(db, self.scope, within, rows, direction)? else {
            return Ok(ScanExtent::End);
        };
        budget.spend(1);
        let (rows, reached) = time_buckets::rows_of(bucket, below, direction);
        let last = self.list.scan_between(rows, step, budget, found)?;
        Ok(ScanExtent::DownTo(last.unwrap_or(reached)))
    }
}

impl RowScan for FailureScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let (index, by) = match self.of {
            Ok(_) => ("deliveries_failed", "d.target_id = ?2"),
            Err(_) => ("deliveries_failed_of_lane", "d.lane = ?17"),
        };
        let from = format!(
            "deliveries d INDEXED BY {index} WHERE d.state = {DEAD} AND d.tenant_id = ?1 AND {by}
               AND d.seq >= ?14 AND d.seq < ?15 ORDER BY d.seq {} LIMIT ?16",
            self.list.direction.word()
        );
        let direction = self.list.direction;
        let (first, end) = direction.rows_below(below, self.list.lowest(), self.list.end());
        let step_value = step as i64;
        let lane = self.of.err().map(Lane::number);
        let mut values: Vec<&dyn ToSql> = vec![&first, &end, &step_value];
        if lane.is_some() {
            values.push(&lane);
        }
        let (count, last) = self.list.scan_rows(&from, &values, budget, found)?;
        Ok(last.filter(|_| count >= step).map_or(ScanExtent::End, ScanExtent::DownTo))
    }
}

impl RowScan for EventScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let word = self.list.direction.word();
        let from = format!(
            "(SELECT j.value AS number FROM parcels q, json_each(q.deliveries) j
               WHERE q.seq = ?14 AND q.tenant_id = ?1 AND (?8 IS NULL OR q.id = ?8)
                 AND j.value >= ?15 AND j.value < ?16
               ORDER BY j.value {word} LIMIT ?17) n
             CROSS JOIN deliveries d ON d.seq = n.number ORDER BY n.number {word}"
        );
        let (first, end) = self.list.direction.rows_below(below, 0, i64::MAX);
        let values: [&dyn ToSql; 4] = [&self.event, &first, &end, &(step as i64)];
        let (count, last) = self.list.scan_rows(&from, &values, budget, found)?;
        Ok(last.filter(|_| count >= step).map_or(ScanExtent::End, ScanExtent::DownTo))
    }
}

/// Encodes the position of the next page in 32 bytes.
fn place(id: DeliveryId) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

fn place_id(place: &[u8; 32]) -> DeliveryId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    Id::from_bytes(bytes)
}

fn place_in_named(event: i64, delivery: i64) -> [u8; 32] {
    let mut place = place(rows::first_id(delivery));
    place[16..24].copy_from_slice(&event.to_be_bytes());
    place
}

/// Returns the event and the delivery of a position.
fn place_of_named(place: &[u8; 32]) -> (i64, i64) {
    let mut event = [0; 8];
    event.copy_from_slice(&place[16..24]);
    (i64::from_be_bytes(event), seq(place_id(place)))
}
