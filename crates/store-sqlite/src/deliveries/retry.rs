//! Makes deliveries due again, for retries and replays.

use std::collections::{BTreeMap, btree_map::Entry};

use gancho_domain::{State, TenantId, Time};
use gancho_store::{RetryOutcome, TargetId};
use rusqlite::params;

use crate::{
    order, rows,
    states::{ENDED, sql},
    transaction::Tx,
    tx_error::TxError,
};

/// The deliveries of one subject to one target.
type SubjectQueue = (TenantId, TargetId, String);

/// Makes a delivery due now, in this state. A delivery that had ended restarts its plan.
pub(super) fn make_due(tx: &Tx<'_>, row: i64, state: State, now: Time) -> Result<(), TxError> {
    tx.db
        .prepare_cached(sql!(
            "UPDATE deliveries SET attempts_before = CASE WHEN state >= {ENDED} THEN attempts
               ELSE attempts_before END, state = ?3, due_at = ?2, lost_leases = 0 WHERE seq = ?1"
        ))?
        .execute(params![row, now.micros(), state.number()])?;
    Ok(())
}

/// Makes ordered deliveries due in turn. In a line in which none is active, the first by its number is sent;
/// all others wait for it, or for the one that is active already.
pub(crate) fn retry_in_order(
    tx: &Tx<'_>,
    rows: &[i64],
    now: Time,
) -> Result<Vec<RetryOutcome>, TxError> {
    let mut answers = Vec::with_capacity(rows.len());
    // For each line, one of its deliveries and whether one was unfinished before.
    let mut lines = BTreeMap::<SubjectQueue, (i64, bool)>::new();
    let mut retried = false;
    for row in rows {
        let Some((state, line)) = state_and_queue(tx, *row)? else {
            answers.push(RetryOutcome::Unknown);
            continue;
        };
        answers.push(if state == State::Leased {
            RetryOutcome::InFlight
        } else {
            RetryOutcome::Due
        });
        match (state, line) {
            (State::Leased | State::Waiting, _) => continue,
            (State::Delivered | State::Dead, Some(line)) => {
                if let Entry::Vacant(new) = lines.entry(line) {
                    let (tenant, target, subject) = new.key();
                    let is_blocked = order::is_blocked(tx, *tenant, *target, subject)?;
                    new.insert((*row, is_blocked));
                }
                make_due(tx, *row, State::Waiting, now)?;
            }
            _ => make_due(tx, *row, State::Pending, now)?,
        }
        retried = true;
    }
    for (row, is_blocked) in lines.into_values() {
        if !is_blocked {
            order::move_up(tx, row)?;
        }
    }
    if retried {
        tx.ring();
    }
    Ok(answers)
}

/// Returns the state of a delivery, and its line if it is ordered.
fn state_and_queue(
    tx: &Tx<'_>,
    row: i64,
) -> Result<Option<(State, Option<SubjectQueue>)>, TxError> {
    let mut find = tx.db.prepare_cached(
        "SELECT state, tenant_id, target_id, subject FROM deliveries WHERE seq = ?1",
    )?;
    let mut found = find.query([row])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (tenant, target) = (rows::id(row, 1)?, rows::id(row, 2)?);
    let subject: Option<String> = row.get(3)?;
    Ok(Some((rows::state(row, 0)?, subject.map(|subject| (tenant, target, subject)))))
}
