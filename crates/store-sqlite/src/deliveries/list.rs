//! A page of a tenant's deliveries, newest first.
//!
//! A lane's and a target's deliveries lie in their spans (see `spans.rs`), among those of others; what
//! failed has indexes of its own; those of an event are named by its parcel. Where a publisher's own id
//! is asked for, the list goes by event, the newest first, and within it by delivery.

use std::collections::VecDeque;

use gancho_domain::{DeliveryId, Id, Lane, Status, TenantScope, Time};
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest, TargetId};
use rusqlite::{Connection, ToSql, params};

use super::read;
use crate::{
    fault::Fault,
    look::{Looks, PARCEL_COST, Reach, Search, Trail, page},
    rows::{self, seq},
    spans,
};

pub(crate) fn page_of(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    request: &PageRequest,
    looks: &mut Looks,
) -> Result<Page<DeliveryRow>, Fault> {
    if filter.external_id.is_some() && filter.event.is_none() {
        return named(db, scope, filter, request, looks);
    }
    let asked = Asked { db, scope, filter };
    let below = request.after.as_ref().map_or(i64::MAX, |place| seq(place_id(place)));
    let below = below.min(filter.until.map_or(i64::MAX, rows::last_seq_at));
    let mut search = Search::new(asked.trails(), below, request.most);
    let (rows, next) = page(&mut search, request.most, looks, |row| asked.row(row))?;
    Ok(Page { rows, next: next.map(|row| place(rows::first_id(row))) })
}

/// Several events may bear the same id: they are looked at one after the other.
fn named(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    request: &PageRequest,
    looks: &mut Looks,
) -> Result<Page<DeliveryRow>, Fault> {
    let asked = Asked { db, scope, filter };
    // The page before ended within this event, with this delivery.
    let mut after = request.after.as_ref().map(place_of_named);
    let mut last = after.map_or(i64::MAX, |(event, _)| event);
    last = last.min(filter.until.map_or(i64::MAX, rows::last_seq_at));
    let mut rows = Vec::new();
    loop {
        let events = events_named(db, scope, filter, last)?;
        let Some(lowest) = events.last().copied() else { return Ok(Page { rows, next: None }) };
        for event in events {
            let within = after.take().filter(|after| after.0 == event);
            let below = within.map_or(i64::MAX, |(_, delivery)| delivery);
            let most = request.most - rows.len();
            let mut search = Search::new(vec![OfEvent { asked, event }], below, most);
            looks.spend(PARCEL_COST);
            let (found, next) = page(&mut search, most, looks, |row| asked.row(row))?;
            rows.extend(found);
            if let Some(next) = next {
                return Ok(Page { rows, next: Some(place_in_named(event, next)) });
            }
            if looks.are_spent() {
                return Ok(Page { rows, next: Some(place_in_named(event, 0)) });
            }
        }
        last = lowest - 1;
    }
}

/// Those that bear the id, from the newest on; a few at a time.
fn events_named(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    last: i64,
) -> Result<Vec<i64>, Fault> {
    Ok(db
        .prepare_cached(
            "SELECT DISTINCT n.parcel FROM named n
             WHERE n.tenant_id = ?1 AND n.external_id = ?2 AND n.parcel <= ?3
             ORDER BY n.parcel DESC LIMIT 500",
        )?
        .query_map(params![scope.tenant().bytes(), filter.external_id, last], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?)
}

/// What is asked for, and of whom.
#[derive(Clone, Copy)]
struct Asked<'a> {
    db: &'a Connection,
    scope: TenantScope,
    filter: &'a DeliveryFilter,
}

enum Way<'a> {
    Spans(InSpans<'a>),
    Failed(Failed<'a>),
    Event(OfEvent<'a>),
}

/// In the spans of a target or of a lane, or in all of the tenant's.
struct InSpans<'a> {
    asked: Asked<'a>,
}

/// In the index of a target's that failed, or of a lane's.
struct Failed<'a> {
    asked: Asked<'a>,
    of: Result<TargetId, Lane>,
}

struct OfEvent<'a> {
    asked: Asked<'a>,
    /// The row number of its parcel.
    event: i64,
}

impl<'a> Asked<'a> {
    fn trails(self) -> Vec<Way<'a>> {
        let Self { filter, .. } = self;
        if let Some(event) = filter.event {
            return vec![Way::Event(OfEvent { asked: self, event: seq(event) })];
        }
        if filter.status != Some(Status::Failed) {
            return vec![Way::Spans(InSpans { asked: self })];
        }
        let failed = |of| Way::Failed(Failed { asked: self, of });
        match (filter.endpoint, filter.lane) {
            (Some(target), _) => vec![failed(Ok(target))],
            (None, Some(lane)) => vec![failed(Err(lane))],
            (None, None) => Lane::ALL.map(|lane| failed(Err(lane))).into(),
        }
    }

    fn row(&self, row: i64) -> Result<Option<DeliveryRow>, Fault> {
        Ok(read(self.db, "WHERE d.seq = ?1", &[&row])?.pop())
    }

    /// The lowest row number that can be of the time asked for.
    fn lowest(&self) -> i64 {
        self.filter.since.map_or(0, rows::first_seq_at)
    }

    /// Looks at the rows of a statement, whose parameters 1 to 8 are bound here and the others by
    /// `more`. Says how many there were and which was the last.
    fn look(
        &self,
        from: &str,
        more: &[&dyn ToSql],
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<(usize, Option<i64>), Fault> {
        let filter = self.filter;
        let parcels = filter.event_type.is_some() || filter.external_id.is_some();
        let sql = format!("SELECT d.seq, {} FROM {from}", fit(filter.status, parcels));
        let mut look = self.db.prepare_cached(&sql)?;
        let (tenant, target) = (self.scope.tenant().bytes(), filter.endpoint.map(Id::bytes));
        let event = filter.event.map(Id::bytes);
        let mut values: Vec<&dyn ToSql> = vec![&tenant, &target];
        let (lane, since, until) = (
            filter.lane.map(Lane::number),
            filter.since.map_or(i64::MIN, Time::micros),
            filter.until.map_or(i64::MAX, Time::micros),
        );
        values.extend::<[&dyn ToSql; 3]>([&lane, &since, &until]);
        values.extend::<[&dyn ToSql; 3]>([&filter.event_type, &filter.external_id, &event]);
        values.extend(more);
        let mut rows = look.query(&*values)?;
        let (mut count, mut last) = (0, None);
        while let Some(row) = rows.next()? {
            let (number, fit): (i64, i64) = (row.get(0)?, row.get(1)?);
            looks.spend(if fit >= READ_PARCEL && parcels { PARCEL_COST } else { 1 });
            if fit == FITS {
                found.push_back(number);
            }
            count += 1;
            last = Some(number);
        }
        Ok((count, last))
    }
}

/// How far a row got on the way to the page. Whose it is and how it stands is asked of the row itself,
/// the rest of its parcel.
const READ_PARCEL: i64 = 2;
const FITS: i64 = 3;

fn fit(status: Option<Status>, parcels: bool) -> String {
    let status = match status {
        None => "true",
        Some(Status::Pending) => "d.state < 5 AND d.attempts = 0",
        Some(Status::Retrying) => "d.state < 5 AND d.attempts > 0",
        Some(Status::Delivered) => "d.state = 5",
        Some(Status::Failed) => "d.state = 6",
    };
    let of_parcel = if parcels {
        "WHEN NOT EXISTS (SELECT 1 FROM parcels p WHERE p.seq = d.parcel
           AND (?6 IS NULL OR p.event_type = ?6) AND (?7 IS NULL OR p.external_id = ?7)) THEN 2"
    } else {
        ""
    };
    format!(
        "CASE WHEN d.tenant_id <> ?1 OR (?2 IS NOT NULL AND d.target_id <> ?2)
                OR (?3 IS NOT NULL AND d.lane <> ?3) THEN 0
              WHEN d.created_at < ?4 OR d.created_at >= ?5 OR NOT ({status}) THEN 1
              {of_parcel} ELSE 3 END"
    )
}

impl Trail for Way<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, Fault> {
        match self {
            Self::Spans(trail) => trail.follow(below, step, looks, found),
            Self::Failed(trail) => trail.follow(below, step, looks, found),
            Self::Event(trail) => trail.follow(below, step, looks, found),
        }
    }
}

/// One stretch of the table at a time.
impl Trail for InSpans<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, Fault> {
        let Asked { db, scope, filter } = self.asked;
        let within = spans::Within { target: filter.endpoint, lane: filter.lane };
        let Some(span) = spans::newest(db, scope, within, below, self.asked.lowest())? else {
            return Ok(Reach::End);
        };
        looks.spend(1);
        let (first, end) = (spans::first_row(span), spans::first_row(span + 1).min(below));
        let from = "deliveries d WHERE d.seq >= ?9 AND d.seq < ?10 ORDER BY d.seq DESC LIMIT ?11";
        let (count, last) = self.asked.look(from, &[&first, &end, &(step as i64)], looks, found)?;
        Ok(Reach::DownTo(last.filter(|_| count == step).unwrap_or(first)))
    }
}

impl Trail for Failed<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, Fault> {
        let (index, by) = match self.of {
            Ok(_) => ("deliveries_failed", "d.target_id = ?2"),
            Err(_) => ("deliveries_failed_of_lane", "d.lane = ?12"),
        };
        let from = format!(
            "deliveries d INDEXED BY {index} WHERE d.state = 6 AND d.tenant_id = ?1 AND {by}
               AND d.seq >= ?9 AND d.seq < ?10 ORDER BY d.seq DESC LIMIT ?11"
        );
        let (lowest, step_value) = (self.asked.lowest(), step as i64);
        let lane = self.of.err().map(Lane::number);
        let mut values: Vec<&dyn ToSql> = vec![&lowest, &below, &step_value];
        if lane.is_some() {
            values.push(&lane);
        }
        let (count, last) = self.asked.look(&from, &values, looks, found)?;
        Ok(last.filter(|_| count == step).map_or(Reach::End, Reach::DownTo))
    }
}

impl Trail for OfEvent<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, Fault> {
        let from = "(SELECT j.value AS number FROM parcels q, json_each(q.deliveries) j
               WHERE q.seq = ?9 AND q.tenant_id = ?1 AND (?8 IS NULL OR q.id = ?8)
                 AND j.value < ?10
               ORDER BY j.value DESC LIMIT ?11) n
             CROSS JOIN deliveries d ON d.seq = n.number ORDER BY n.number DESC";
        let values: [&dyn ToSql; 3] = [&self.event, &below, &(step as i64)];
        let (count, last) = self.asked.look(from, &values, looks, found)?;
        Ok(last.filter(|_| count == step).map_or(Reach::End, Reach::DownTo))
    }
}

/// The 32 bytes by which a page says where the next begins.
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

/// The event and the delivery.
fn place_of_named(place: &[u8; 32]) -> (i64, i64) {
    let mut event = [0; 8];
    event.copy_from_slice(&place[16..24]);
    (i64::from_be_bytes(event), seq(place_id(place)))
}
