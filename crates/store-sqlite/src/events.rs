//! A tenant's events, newest first.
//!
//! Parcels have no index by tenant: it would be written with every one of them, for the sake of a
//! list. An event with deliveries is found through the first of them and has its place in the list by
//! that one's row number; one that matched no endpoint is found through an index of such ones alone
//! and has its place by its own. Both are made with the event and never change, so a page begins
//! where the one before it ended.

use std::collections::VecDeque;

use gancho_domain::{TenantScope, Time};
use gancho_store::{EventFilter, EventRow, Page, PageRequest};
use rusqlite::{Connection, Row, params};

use crate::{fault::Fault, rows, spans};

pub(crate) fn page_of(
    db: &Connection,
    scope: TenantScope,
    filter: &EventFilter,
    page: &PageRequest,
) -> Result<Page<EventRow>, Fault> {
    let mut search = Search::begin(db, scope, filter, page.after.as_ref())?;
    let mut rows = Vec::new();
    let mut last = 0;
    while let Some((place, event)) = search.next()? {
        if rows.len() == page.most {
            return Ok(Page { rows, next: Some(write_place(last)) });
        }
        rows.push(event);
        last = place;
    }
    Ok(Page { rows, next: None })
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

/// Several ways to find events, merged: what is newest in any of them comes first.
struct Search<'a> {
    db: &'a Connection,
    scope: TenantScope,
    filter: &'a EventFilter,
    ways: Vec<Way>,
}

struct Way {
    sql: &'static str,
    /// Where it goes by deliveries, to whom and in which lane.
    sent: Option<spans::Way>,
    /// What fits of what was read, the newest first.
    found: VecDeque<(i64, EventRow)>,
    /// Everything from here on up was read.
    below: i64,
    /// How many rows to read next; none when there is nothing left.
    step: usize,
}

const FIRST_STEP: usize = 16;
const LONGEST_STEP: usize = 4_096;

impl<'a> Search<'a> {
    fn begin(
        db: &'a Connection,
        scope: TenantScope,
        filter: &'a EventFilter,
        after: Option<&[u8; 32]>,
    ) -> Result<Self, Fault> {
        let below = after.map_or(i64::MAX, read_place);
        let below = below.min(filter.until.map_or(i64::MAX, rows::last_seq_at));
        let way = |sql, sent| Way { sql, sent, found: VecDeque::new(), below, step: FIRST_STEP };
        let ways = if filter.external_id.is_some() {
            vec![way(NAMED, None)]
        } else if filter.is_unmatched {
            vec![way(UNMATCHED, None)]
        } else {
            let mut ways = vec![way(UNMATCHED, None)];
            let sent = spans::ways(db, scope, None, None)?;
            ways.extend(sent.into_iter().map(|sent| way(SENT, Some(sent))));
            ways
        };
        Ok(Self { db, scope, filter, ways })
    }

    fn next(&mut self) -> Result<Option<(i64, EventRow)>, Fault> {
        loop {
            let place = |way: &Way| way.found.front().map(|found| found.0);
            let newest = self.ways.iter().filter_map(place).max();
            // A way on which nothing was found yet may still lead to a newer one.
            let behind = |way: &&mut Way| {
                way.found.is_empty() && way.step > 0 && newest.is_none_or(|one| one < way.below)
            };
            if let Some(way) = self.ways.iter_mut().find(behind) {
                way.read_on(self.db, self.scope, self.filter)?;
                continue;
            }
            let way = self.ways.iter_mut().find(|way| newest.is_some() && place(way) == newest);
            return Ok(way.and_then(|way| way.found.pop_front()));
        }
    }
}

impl Way {
    fn read_on(
        &mut self,
        db: &Connection,
        scope: TenantScope,
        filter: &EventFilter,
    ) -> Result<(), Fault> {
        let mut list = db.prepare_cached(self.sql)?;
        let mut rows = list.query(params![
            scope.tenant().bytes(),
            self.below,
            filter.since.map_or(i64::MIN, rows::first_seq_at),
            self.sent.map(|(target, _)| target.bytes()),
            filter.external_id,
            filter.event_type,
            filter.is_unmatched,
            filter.since.map_or(i64::MIN, Time::micros),
            filter.until.map_or(i64::MAX, Time::micros),
            filter.kind.number(),
            self.sent.map(|(_, lane)| lane.number()),
            self.step as i64,
        ])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            self.below = row.get(0)?;
            if row.get(1)? {
                self.found.push_back((self.below, event(row)?));
            }
            count += 1;
        }
        self.step = if count < self.step { 0 } else { LONGEST_STEP.min(self.step * 2) };
        Ok(())
    }
}

/// What fits is asked of each row and not of the statement, so that a way on which nothing fits is
/// read no further than the others.
macro_rules! way {
    ($place:literal, $mine:literal, $from:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $place,
            ", p.kind = ?10 AND (?6 IS NULL OR p.event_type = ?6)
               AND (?5 IS NULL OR p.external_id = ?5) AND (NOT ?7 OR p.deliveries = '[]')
               AND p.created_at >= ?8 AND p.created_at < ?9 AND ",
            $mine,
            ", p.id, p.event_type, p.subject, p.external_id, p.number, p.is_test,
             json_array_length(p.deliveries), p.created_at FROM ",
            $from,
            " AND ",
            $place,
            " < ?2 AND ",
            $place,
            " >= ?3 ORDER BY ",
            $order,
            " DESC LIMIT ?12"
        )
    };
}

const SENT: &str = way!(
    "d.seq",
    "NOT p.sent_later AND json_extract(p.deliveries, '$[0]') = d.seq",
    "spans s CROSS JOIN deliveries d CROSS JOIN parcels p
     WHERE s.tenant_id = ?1 AND s.target_id = ?4 AND s.lane = ?11 AND s.span <= ?2 >> 22
       AND d.seq >= s.span << 22 AND d.seq < (s.span + 1) << 22
       AND p.seq = d.parcel AND d.tenant_id = ?1 AND d.target_id = ?4
       AND d.lane = ?11",
    "s.span DESC, d.seq"
);

const UNMATCHED: &str = way!(
    "p.seq",
    "true",
    "parcels p INDEXED BY parcels_unmatched
     WHERE (p.deliveries = '[]' OR p.sent_later) AND p.tenant_id = ?1",
    "p.seq"
);

/// One that is being brought into the tree is named twice, and one that was removed may still be: see
/// external_ids.rs.
const NAMED: &str = way!(
    "p.seq",
    "true",
    "parcels p WHERE p.seq IN (SELECT n.parcel FROM named n
       WHERE n.tenant_id = ?1 AND n.external_id = ?5 AND n.parcel < ?2 AND n.parcel >= ?3
         AND EXISTS (SELECT 1 FROM parcels q WHERE q.seq = n.parcel)
       ORDER BY n.parcel DESC LIMIT 2 * ?12)",
    "p.seq"
);

/// From the third column on.
fn event(row: &Row<'_>) -> Result<EventRow, Fault> {
    Ok(EventRow {
        id: rows::id(row, 2)?,
        event_type: row.get(3)?,
        subject: row.get(4)?,
        external_id: row.get(5)?,
        number: row.get::<_, Option<i64>>(6)?.map(|number| number as u64),
        is_test: row.get(7)?,
        deliveries: row.get::<_, i64>(8)? as u64,
        created_at: rows::time(row, 9)?,
    })
}
