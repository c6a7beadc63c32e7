//! In which spans of time a target got deliveries of a lane: how a target's deliveries are found.
//!
//! An index of every delivery by its target would be changed in a different place for each target: with
//! fifty targets busy, a commit wrote as many pages of that index as of everything else. So only this is
//! written down: that a target got something of a lane within an eighth of a second, once for each. Rows are in
//! order of time, so a span is a short stretch of the table, and a list reads the stretches that have
//! something for it.

use std::{cell::RefCell, collections::HashMap};

use gancho_domain::{Lane, TenantId, TenantScope, Time};
use gancho_store::TargetId;
use rusqlite::{Connection, params};

use crate::{fault::Fault, rows, transaction::Tx};

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

/// All of a tenant's, or those of one target or of one lane. Deliveries are found by way only, which spares every
/// delivery an index of its tenant's: a list of all is put together from a page of each.
pub(crate) fn ways(
    db: &Connection,
    scope: TenantScope,
    to: Option<TargetId>,
    lane: Option<Lane>,
) -> Result<Vec<Way>, Fault> {
    let mut next = db.prepare_cached(
        "SELECT target_id, lane FROM spans
         WHERE tenant_id = ?1 AND (target_id, lane) > (?2, ?3) ORDER BY target_id, lane LIMIT 1",
    )?;
    let mut ways = Vec::new();
    let mut last = (to.unwrap_or(TargetId::from_bits(0)), 0);
    loop {
        let mut found = next.query(params![scope.tenant().bytes(), last.0.bytes(), last.1])?;
        let Some(row) = found.next()? else { return Ok(ways) };
        let way = (rows::id(row, 0)?, rows::lane(row, 1)?);
        if to.is_some_and(|to| to != way.0) {
            return Ok(ways);
        }
        if lane.is_none_or(|lane| lane == way.1) {
            ways.push(way);
        }
        last = (way.0, way.1.number());
    }
}

/// Removes at most so many of the spans that lie before every delivery that is left.
pub(crate) fn prune(tx: &Tx<'_>, before: Time, most: usize) -> Result<(), Fault> {
    let left: Option<i64> =
        tx.db.prepare_cached("SELECT min(seq) FROM deliveries")?.query_row([], |row| row.get(0))?;
    let first = rows::first_seq_at(before).min(left.unwrap_or(i64::MAX)) >> SPAN_BITS;
    let gone = tx
        .db
        .prepare_cached(
            "DELETE FROM spans WHERE (tenant_id, target_id, lane, span) IN
               (SELECT tenant_id, target_id, lane, span FROM spans INDEXED BY spans_by_time
                WHERE span < ?1 LIMIT ?2)",
        )?
        .execute(params![first, most as i64])?;
    if gone > 0 {
        tx.known.spans.forget();
    }
    Ok(())
}
