//! Lists dead letters in the order in which they were given up, with a bounded scan and pages of bounded
//! size.

use std::collections::HashMap;

use bytes::Bytes;
use gancho_domain::{DeliveryId, Id, Time};
use gancho_store::{DeadFilter, DeadLetter, ListOrder, Page, PageRequest};
use rusqlite::{Connection, OptionalExtension, params};

use super::{LETTER, add_letter_conditions, dead_letter};
use crate::{
    rows::{self, seq},
    scan::ScanBudget,
    states::{DEAD, sql},
    tx_error::{TxError, corrupt},
    where_clause::Conditions,
};

/// A letter's position in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPosition {
    pub moved_at: i64,
    /// The row number of its delivery.
    pub delivery: i64,
}

impl ListPosition {
    /// Encodes the position of the next page in 32 bytes.
    pub fn write(self) -> [u8; 32] {
        let mut place = [0; 32];
        place[..8].copy_from_slice(&self.moved_at.to_be_bytes());
        let delivery: DeliveryId = rows::first_id(self.delivery);
        place[16..].copy_from_slice(&delivery.bytes());
        place
    }

    fn read(place: &[u8; 32]) -> Result<Self, TxError> {
        let wrong = |_| corrupt("a page's place has the wrong length");
        let moved_at = i64::from_be_bytes(place[..8].try_into().map_err(wrong)?);
        let delivery: DeliveryId = Id::from_bytes(place[16..].try_into().map_err(wrong)?);
        Ok(Self { moved_at, delivery: seq(delivery) })
    }
}

/// Builds a page. It ends before the dead letter that would make it too large.
pub(crate) fn page_of(
    db: &Connection,
    filter: &DeadFilter,
    page: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<DeadLetter>, TxError> {
    let letters = Letters { db, filter, order: page.order, ended: false };
    let (found, next) = letters.find(page.after.as_ref(), page.max, budget)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let mut bodies = HashMap::<i64, Bytes>::new();
    let mut last = None;
    for place in found {
        let Some((parcel, size)) = letters.size(place)? else { continue };
        if bytes + size > page.max_bytes && !rows.is_empty() {
            return Ok(Page { rows, next: last.map(ListPosition::write) });
        }
        // The body of an event is read once, however many of its deliveries are on the page.
        let body = match bodies.get(&parcel) {
            Some(body) => body.clone(),
            None => letters.body(parcel)?,
        };
        bodies.insert(parcel, body.clone());
        rows.extend(letters.letter(place, body)?);
        bytes += size;
        last = Some(place);
    }
    Ok(Page { rows, next: next.map(ListPosition::write) })
}

/// Returns the index that has them in the order of time.
pub(super) fn index(filter: &DeadFilter) -> &'static str {
    match (filter.delivery, filter.tenant) {
        (Some(_), _) => "",
        (None, Some(_)) => "INDEXED BY dead_letters_of_tenant",
        (None, None) => "INDEXED BY dead_letters_by_time",
    }
}

/// A query for dead letters.
pub(super) struct Letters<'a> {
    pub db: &'a Connection,
    pub filter: &'a DeadFilter,
    pub order: ListOrder,
    /// Whether to return only those whose deliveries have ended, so none that is being replayed.
    pub ended: bool,
}

const MAX_STEP: usize = 4_096;

impl Letters<'_> {
    /// Returns at most `max` matching dead letters and where to continue; `None` at the end.
    pub fn find(
        &self,
        after: Option<&[u8; 32]>,
        max: usize,
        budget: &mut ScanBudget,
    ) -> Result<(Vec<ListPosition>, Option<ListPosition>), TxError> {
        let mut at = after.map(ListPosition::read).transpose()?;
        let mut found = Vec::new();
        let mut step = (max + 1).min(MAX_STEP);
        loop {
            let looked = self.step(at, step)?;
            let is_end = looked.len() < step;
            for (place, fits) in looked {
                budget.spend(1);
                if fits && found.len() == max {
                    let last = found.last().copied().or(at);
                    return Ok((found, last));
                }
                if fits {
                    found.push(place);
                    if found.len() == max {
                        budget.only_for_another_page();
                    }
                }
                at = Some(place);
            }
            if is_end {
                return Ok((found, None));
            }
            if budget.are_spent() {
                return Ok((found, at));
            }
            step = (step * 2).min(MAX_STEP);
        }
    }

    /// Returns up to `step` dead letters after a position, and whether each matches.
    fn step(
        &self,
        after: Option<ListPosition>,
        step: usize,
    ) -> Result<Vec<(ListPosition, bool)>, TxError> {
        if let Some(delivery) = self.filter.delivery {
            let mut conditions = Conditions::default();
            conditions.add("l.delivery = $", seq(delivery));
            return match after {
                Some(_) => Ok(Vec::new()),
                None => self.scan_rows(index(self.filter), conditions, step),
            };
        }
        let Some(after) = after else {
            return self.scan_rows(index(self.filter), self.within(), step);
        };
        // The others of the same instant, then the ones after it: both by the index alone.
        let (beyond, behind) = match self.order {
            ListOrder::NewestFirst => ("l.delivery < $", "l.moved_at < $"),
            ListOrder::OldestFirst => ("l.delivery > $", "l.moved_at > $"),
        };
        let mut conditions = self.within();
        conditions.add("l.moved_at = $", after.moved_at);
        conditions.add(beyond, after.delivery);
        let mut looked = self.scan_rows(index(self.filter), conditions, step)?;
        if looked.len() < step {
            let mut conditions = self.within();
            conditions.add(behind, after.moved_at);
            looked.extend(self.scan_rows(index(self.filter), conditions, step - looked.len())?);
        }
        Ok(looked)
    }

    /// Returns the conditions that the index alone can check.
    fn within(&self) -> Conditions {
        let mut conditions = Conditions::default();
        if let Some(tenant) = self.filter.tenant {
            conditions.add("l.tenant_id = $", tenant.bytes());
        }
        // A condition on the time, which lets SQLite use the index.
        conditions.add("l.moved_at >= $", self.filter.since.map_or(i64::MIN, Time::micros));
        if let Some(until) = self.filter.until {
            conditions.add("l.moved_at < $", until.micros());
        }
        conditions
    }

    fn scan_rows(
        &self,
        index: &str,
        within: Conditions,
        step: usize,
    ) -> Result<Vec<(ListPosition, bool)>, TxError> {
        let filter = self.filter;
        let range = within.sql();
        let mut conditions = within.without_conditions();
        add_letter_conditions(&mut conditions, filter);
        if let Some(delivery) = filter.delivery {
            let of_id = "EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.delivery AND d.id = $)";
            conditions.add(of_id, delivery.bytes());
        }
        if self.ended {
            conditions.add_plain(sql!(
                "EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.delivery AND d.state = {DEAD})"
            ));
        }
        let word = match self.order {
            ListOrder::NewestFirst => "DESC",
            ListOrder::OldestFirst => "ASC",
        };
        let mut look = self.db.prepare_cached(&format!(
            "SELECT l.moved_at, l.delivery, {} FROM dead_letters l {index}
             WHERE {range} ORDER BY l.moved_at {word}, l.delivery {word} LIMIT {step}",
            conditions.sql()
        ))?;
        let looked = look.query_map(&*conditions.values(), |row| {
            Ok((ListPosition { moved_at: row.get(0)?, delivery: row.get(1)? }, row.get(2)?))
        })?;
        Ok(looked.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the row number of its parcel, and the size of the parcel's body.
    fn size(&self, place: ListPosition) -> Result<Option<(i64, usize)>, TxError> {
        Ok(self
            .db
            .prepare_cached(
                "SELECT p.seq, octet_length(p.body) FROM deliveries d
                 CROSS JOIN parcels p ON p.seq = d.parcel WHERE d.seq = ?1",
            )?
            .query_row([place.delivery], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))
            .optional()?)
    }

    fn body(&self, parcel: i64) -> Result<Bytes, TxError> {
        self.db
            .prepare_cached("SELECT p.body FROM parcels p WHERE p.seq = ?1")?
            .query_row([parcel], |row| Ok(rows::bytes(row, 0)))?
    }

    fn letter(&self, place: ListPosition, body: Bytes) -> Result<Option<DeadLetter>, TxError> {
        // Without the body, which may have been read already.
        let mut find = self.db.prepare_cached(&format!(
            "SELECT {} FROM dead_letters l CROSS JOIN deliveries d ON d.seq = l.delivery
             CROSS JOIN parcels p ON p.seq = d.parcel WHERE l.delivery = ?1",
            LETTER.replace("p.body", "x''")
        ))?;
        let mut found = find.query(params![place.delivery])?;
        let letter = found.next()?.map(dead_letter).transpose()?;
        Ok(letter.map(|letter| DeadLetter { original: body, ..letter }))
    }
}
