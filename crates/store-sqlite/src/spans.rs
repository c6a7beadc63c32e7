//! In which spans of time a target got deliveries of a lane: how a target's deliveries are found.
//!
//! An index of every delivery by its target would be changed in a different place for each target: with
//! fifty targets busy, a commit wrote as many pages of that index as of everything else. So only this is
//! written down: that a target got something of a lane within an eighth of a second, once for each. Rows are in
//! order of time, so a span is a short stretch of the table, and a list reads the stretches that have
//! something for it.

use std::{cell::RefCell, collections::HashMap};

use gancho_domain::{Lane, Parcel, TenantId, TenantScope};
use gancho_store::{NewDelivery, TargetId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{fault::Fault, look::Direction, rows::seq, transaction::Tx};

/// A row's number holds milliseconds above 15 bits: 128 of them make a span.
pub(crate) const SPAN_BITS: u32 = 22;

/// The last span that was written down for each target, so that most deliveries need no look at the
/// table. Forgotten whenever a transaction is rolled back: what it wrote is gone then.
#[derive(Default)]
pub(crate) struct Spans(RefCell<HashMap<(TenantId, Way), i64>>);

/// To whom, in which lane. A target has one lane, as a rule.
pub(crate) type Way = (TargetId, Lane);

/// Beyond so many targets it begins anew, which costs each of them one needless look.
const MOST: usize = 50_000;

impl Spans {
    pub fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    /// The span is no longer written down.
    pub fn removed(&self, way: (TenantId, Way), span: i64) {
        let mut known = self.0.borrow_mut();
        if known.get(&way) == Some(&span) {
            known.remove(&way);
        }
    }

    /// Whether the span has to be written down.
    fn is_new(&self, way: (TenantId, Way), span: i64) -> bool {
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(way, span) != Some(span)
    }
}

pub(crate) fn note(tx: &Tx<'_>, tenant: TenantId, way: Way, seq: i64) -> Result<(), Fault> {
    let span = seq >> SPAN_BITS;
    if tx.known.spans.is_new((tenant, way), span) {
        let (target, lane) = way;
        tx.db
            .prepare_cached(
                "INSERT OR IGNORE INTO spans (tenant_id, target_id, lane, span)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![tenant.bytes(), target.bytes(), lane.number(), span])?;
    }
    Ok(())
}

/// A parcel lies in the spans of its lane as well, so that events are found by them. It is made just
/// before its deliveries, and so is in their span already, but for a few.
pub(crate) fn note_parcel(tx: &Tx<'_>, parcel: &Parcel, first: &NewDelivery) -> Result<(), Fault> {
    let (lane, row) = (parcel.kind.lane(), seq(parcel.id));
    if lane == first.lane && row >> SPAN_BITS == seq(first.id) >> SPAN_BITS {
        return Ok(());
    }
    note(tx, parcel.tenant, (first.target, lane), row)
}

/// Whose spans to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within {
    pub target: Option<TargetId>,
    pub lane: Option<Lane>,
}

/// The first span, in this direction, that has rows from the one number on and before the other.
pub(crate) fn next(
    db: &Connection,
    scope: TenantScope,
    within: Within,
    (from, to): (i64, i64),
    direction: Direction,
) -> Result<Option<i64>, Fault> {
    let mut next: Option<i64> = None;
    let word = direction.word();
    for lane in within.lane.map_or(Lane::ALL.to_vec(), |lane| vec![lane]) {
        let (tenant, lane) = (scope.tenant().bytes(), lane.number());
        let (last, first) = ((to - 1) >> SPAN_BITS, from >> SPAN_BITS);
        let found = match within.target {
            Some(target) => db
                .prepare_cached(&format!(
                    "SELECT span FROM spans
                     WHERE tenant_id = ?1 AND lane = ?2 AND span <= ?3 AND span >= ?4
                       AND target_id = ?5 ORDER BY span {word} LIMIT 1"
                ))?
                .query_row(params![tenant, lane, last, first, target.bytes()], |row| row.get(0)),
            None => db
                .prepare_cached(&format!(
                    "SELECT span FROM spans INDEXED BY spans_of_lane
                     WHERE tenant_id = ?1 AND lane = ?2 AND span <= ?3 AND span >= ?4
                     ORDER BY span {word} LIMIT 1"
                ))?
                .query_row(params![tenant, lane, last, first], |row| row.get(0)),
        };
        let spans = next.into_iter().chain(found.optional()?);
        next = if direction.is_newest_first() { spans.max() } else { spans.min() };
    }
    Ok(next)
}

/// The rows of a span that have keys below this one, and the key that is reached with the last of them.
pub(crate) fn rows_of(span: i64, below: i64, direction: Direction) -> ((i64, i64), i64) {
    let (first, end) = (first_row(span), first_row(span + 1));
    let last = if direction.is_newest_first() { first } else { end - 1 };
    (direction.rows_below(below, first, end), direction.key(last))
}

/// The lowest row number in a span.
const fn first_row(span: i64) -> i64 {
    span << SPAN_BITS
}
