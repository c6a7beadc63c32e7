//! Strict order per subject. Of the unfinished deliveries of one subject to one target, one is active and the
//! others wait for it, in the order of acceptance. That is the order of their numbers, which are assigned in
//! the transaction, not of their ids, which are created before it. Deliveries of a fan-out that are not
//! placed yet have their number already, and later ones wait for them too.

use gancho_domain::TenantId;
use gancho_store::TargetId;
use rusqlite::{OptionalExtension, params};

use crate::{
    fan_out,
    states::{ENDED, PENDING, WAITING, sql},
    transaction::Tx,
    tx_error::TxError,
};

/// Whether a new delivery must wait: one with a lower number is unfinished or not placed yet, or another one
/// is active.
pub(crate) fn must_wait(
    tx: &Tx<'_>,
    tenant: TenantId,
    target: TargetId,
    subject: &str,
    number: u64,
) -> Result<bool, TxError> {
    let is_there = tx
        .db
        .prepare_cached(sql!(
            "SELECT 1 FROM deliveries INDEXED BY deliveries_in_order
             WHERE tenant_id = ?1 AND target_id = ?2 AND subject = ?3 AND subject IS NOT NULL
               AND state < {ENDED} AND (number < ?4 OR state <> {WAITING}) LIMIT 1"
        ))?
        .exists(params![tenant.bytes(), target.bytes(), subject, number as i64])?;
    Ok(is_there
        || fan_out::has_earlier(tx, &tenant.bytes(), &target.bytes(), subject, number as i64)?)
}

/// Whether another delivery of the line is unfinished.
pub(crate) fn is_blocked(
    tx: &Tx<'_>,
    tenant: TenantId,
    target: TargetId,
    subject: &str,
) -> Result<bool, TxError> {
    Ok(tx
        .db
        .prepare_cached(sql!(
            "SELECT 1 FROM deliveries INDEXED BY deliveries_in_order
             WHERE tenant_id = ?1 AND target_id = ?2 AND subject = ?3
               AND subject IS NOT NULL AND state < {ENDED} LIMIT 1"
        ))?
        .exists(params![tenant.bytes(), target.bytes(), subject])?)
}

/// Activates the first delivery of the subject, because the delivery in row `seq` has ended or waits in a
/// line in which none is active.
pub(crate) fn move_up(tx: &Tx<'_>, seq: i64) -> Result<(), TxError> {
    let next = tx
        .db
        .prepare_cached(sql!(
            "SELECT n.seq, n.number, n.tenant_id, n.target_id, n.subject FROM deliveries e JOIN deliveries n INDEXED BY deliveries_in_order
               ON n.tenant_id = e.tenant_id AND n.target_id = e.target_id AND n.subject = e.subject
             WHERE e.seq = ?1 AND n.subject IS NOT NULL AND n.state < {ENDED}
             ORDER BY n.number LIMIT 1"
        ))?
        .query_row([seq], |row| {
            let number: i64 = row.get(1)?;
            let (tenant, target): ([u8; 16], [u8; 16]) = (row.get(2)?, row.get(3)?);
            Ok((row.get::<_, i64>(0)?, number, tenant, target, row.get::<_, String>(4)?))
        })
        .optional()?;
    let next = match next {
        // An earlier delivery is placed later, and becomes active then.
        Some((_, number, tenant, target, subject))
            if fan_out::has_earlier(tx, &tenant, &target, &subject, number)? =>
        {
            None
        }
        next => next.map(|(seq, ..)| seq),
    };
    // The first unfinished one may be active already, if someone retried it by hand.
    let moved = match next {
        Some(next) => tx
            .db
            .prepare_cached(sql!(
                "UPDATE deliveries SET state = {PENDING} WHERE seq = ?1 AND state = {WAITING}"
            ))?
            .execute([next])?,
        None => 0,
    };
    if moved > 0 {
        tx.ring();
    }
    Ok(())
}
