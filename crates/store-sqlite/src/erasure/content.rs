//! Erases the content of one parcel, and finds the parcels of a subject.
//!
//! Of a parcel with many deliveries, the attempts are erased in several steps, so that other tenants' writes
//! have their turn in between. The last step erases the parcel itself: until then a repeated call starts over,
//! and nothing is left behind.

use std::collections::BTreeMap;

use gancho_domain::{ParcelId, TenantScope, Time};
use gancho_store::{ContentErasure, Result, SubjectScan};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    external_ids, prune,
    rows::{self, seq},
    states::ENDED,
    transaction::Tx,
    tx_error::TxError,
};

/// The rows of the deliveries of parcel `?1`.
const DELIVERIES: &str =
    "(SELECT j.value FROM parcels p, json_each(p.deliveries) j WHERE p.seq = ?1)";

/// Maximum rows that a step erases, unless one delivery has more.
pub(super) const MAX_ROWS: usize = 128;

/// How far the earlier steps have come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// The deliveries whose attempts are erased: the first ones of the parcel's list.
    deliveries: usize,
    /// The attempts that they had.
    attempts: u64,
}

pub(super) enum Step {
    Done(ContentErasure),
    /// Another step must follow.
    More(Progress),
}

/// Erases what one step may, after those before.
pub(super) fn erase(
    tx: &Tx<'_>,
    scope: TenantScope,
    id: ParcelId,
    before: Progress,
    replacement: &[u8],
    now: Time,
) -> Result<Step, TxError> {
    let (row, tenant) = (seq(id), scope.tenant());
    let found: Option<(Option<String>, Option<i64>)> = tx
        .db
        .prepare_cached(
            "SELECT subject, erased_at FROM parcels WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
        )?
        .query_row(params![row, id.bytes(), tenant.bytes()], |found| {
            Ok((found.get(0)?, found.get(1)?))
        })
        .optional()?;
    let subject = match found {
        None => return Ok(Step::Done(ContentErasure::Unknown)),
        Some((_, Some(_))) => return Ok(Step::Done(ContentErasure::AlreadyErased)),
        Some((subject, None)) => subject,
    };
    let next = next_deliveries(tx, row, before.deliveries)?;
    let (is_first, is_last) = (before.deliveries == 0, next.are_last);
    if next.is_any_unended {
        return Ok(Step::Done(ContentErasure::InFlight));
    }
    let progress = Progress {
        deliveries: before.deliveries + next.count,
        attempts: before.attempts + next.attempts,
    };
    // A delivery that was retried since an earlier step has attempts that are not erased.
    if (is_first || is_last) && has_unended(tx, row, is_last.then_some(progress.attempts))? {
        return Ok(Step::Done(ContentErasure::InFlight));
    }
    unreadably(tx, || {
        for delivery in next.rows {
            overwrite_attempts(tx, delivery)?;
        }
        if !is_last {
            return Ok(Step::More(progress));
        }
        overwrite(tx, row, replacement, now)?;
        tx.db
            .prepare_cached("DELETE FROM email_reports WHERE tenant_id = ?1 AND email_id = ?2")?
            .execute(params![tenant.bytes(), id.bytes()])?;
        if let Some(subject) = subject {
            prune::forget_subjects(tx, &BTreeMap::from([((tenant, subject), 1)]))?;
        }
        Ok(Step::Done(ContentErasure::Erased))
    })
}

/// The deliveries of a step.
#[derive(Default)]
struct NextDeliveries {
    /// How many entries of the parcel's list they are.
    count: usize,
    rows: Vec<i64>,
    attempts: u64,
    is_any_unended: bool,
    are_last: bool,
}

fn next_deliveries(tx: &Tx<'_>, parcel: i64, first: usize) -> Result<NextDeliveries, TxError> {
    let mut list = tx.db.prepare_cached(&format!(
        "SELECT d.seq, d.attempts, d.state < {ENDED}
         FROM parcels p, json_each(p.deliveries) j LEFT JOIN deliveries d ON d.seq = j.value
         WHERE p.seq = ?1 AND j.key >= ?2 ORDER BY j.key LIMIT ?3"
    ))?;
    let mut found = list.query(params![parcel, first as i64, 1 + MAX_ROWS as i64])?;
    let mut next = NextDeliveries::default();
    while let Some(row) = found.next()? {
        let attempts = row.get::<_, Option<i64>>(1)?.unwrap_or(0) as u64;
        let rows = next.count as u64 + next.attempts + 1 + attempts;
        if rows > MAX_ROWS as u64 && next.count > 0 {
            return Ok(next);
        }
        next.count += 1;
        next.attempts += attempts;
        next.rows.extend(row.get::<_, Option<i64>>(0)?);
        next.is_any_unended |= row.get::<_, Option<bool>>(2)?.unwrap_or(false);
    }
    next.are_last = true;
    Ok(next)
}

/// Whether a delivery of the parcel has not ended, or together they do not have this number of attempts.
fn has_unended(tx: &Tx<'_>, parcel: i64, attempts: Option<u64>) -> Result<bool, TxError> {
    let (unended, count): (bool, i64) = tx
        .db
        .prepare_cached(&format!(
            "SELECT coalesce(max(d.state < {ENDED}), 0)
               OR EXISTS (SELECT 1 FROM fan_out_parts WHERE parcel = ?1),
               coalesce(sum(d.attempts), 0)
             FROM deliveries d WHERE d.seq IN {DELIVERIES}"
        ))?
        .query_row([parcel], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(unended || attempts.is_some_and(|attempts| attempts != count as u64))
}

/// Runs `erase` so that what it overwrites and deletes is not readable in the file any more, even in pages
/// that become free.
pub(crate) fn unreadably<T>(
    tx: &Tx<'_>,
    erase: impl FnOnce() -> Result<T, TxError>,
) -> Result<T, TxError> {
    tx.db.pragma_update(None, "secure_delete", true)?;
    let erased = erase();
    tx.db.pragma_update(None, "secure_delete", "fast")?;
    erased
}

/// Overwrites the attempts of a delivery. Its dead letter contains the reason of the last one.
fn overwrite_attempts(tx: &Tx<'_>, delivery: i64) -> Result<(), TxError> {
    for sql in [
        "DELETE FROM dead_letters WHERE delivery = ?1",
        "UPDATE attempts SET request_headers = x'', response_headers = x'', response_body = x'',
           reason = CASE WHEN reason IS NULL THEN NULL ELSE 'erased' END
         WHERE delivery = ?1",
        "UPDATE deliveries SET subject = NULL, number = NULL WHERE seq = ?1 AND subject IS NOT NULL",
    ] {
        tx.db.prepare_cached(sql)?.execute([delivery])?;
    }
    Ok(())
}

/// Overwrites the parcel, and what its deliveries may have got again since an earlier step.
fn overwrite(tx: &Tx<'_>, row: i64, replacement: &[u8], now: Time) -> Result<(), TxError> {
    external_ids::forget(tx, row)?;
    for sql in [
        format!("DELETE FROM dead_letters WHERE delivery IN {DELIVERIES}"),
        format!(
            "UPDATE deliveries SET subject = NULL, number = NULL
             WHERE seq IN {DELIVERIES} AND subject IS NOT NULL"
        ),
    ] {
        tx.db.prepare_cached(&sql)?.execute([row])?;
    }
    tx.db
        .prepare_cached(
            "UPDATE parcels SET body = ?2, subject = NULL, external_id = NULL, request = NULL,
               erased_at = ?3 WHERE seq = ?1",
        )?
        .execute(params![row, replacement, now.micros()])?;
    Ok(())
}

pub(super) fn parcels_about(
    db: &Connection,
    scope: TenantScope,
    subject: &str,
    after: Option<ParcelId>,
    max: usize,
) -> Result<SubjectScan, TxError> {
    let mut list = db.prepare_cached(
        "SELECT p.id, p.tenant_id = ?2 AND p.subject IS ?3 FROM parcels p
         WHERE p.seq > ?1 ORDER BY p.seq LIMIT ?4",
    )?;
    let values = params![after.map_or(0, seq), scope.tenant().bytes(), subject, max as i64];
    let mut found = list.query(values)?;
    let mut scan = SubjectScan::default();
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let id = rows::id(row, 0)?;
        if row.get(1)? {
            scan.parcels.push(id);
        }
        scan.next = Some(id).filter(|_| count == max);
    }
    Ok(scan)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
