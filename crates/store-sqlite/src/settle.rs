//! Writes the results of attempts.

use async_trait::async_trait;
use gancho_domain::{Attempt, Failure, Lane, NextStep, State, Time};
use gancho_store::{NodeId, Result, Settle, SettleOutcome, Settlement};
use rusqlite::params;

use crate::{
    SqliteStore, accept::accept_all, order, rows::seq, transaction::Tx, tx_error::TxError,
};

#[async_trait]
impl Settle for SqliteStore {
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        self.write(move |tx| settlements.iter().map(|one| settle_one(tx, node, one)).collect())
            .await
    }
}

fn settle_one(
    tx: &Tx<'_>,
    node: NodeId,
    settlement: &Settlement,
) -> Result<SettleOutcome, TxError> {
    let row = seq(settlement.delivery);
    if !advance(tx, node, row, settlement)? {
        return Ok(SettleOutcome::LeaseLost);
    }
    if let Some(attempt) = &settlement.attempt {
        insert_attempt(tx, row, attempt)?;
    }
    match &settlement.next {
        NextStep::Dead(failure) => {
            bury(tx, row, failure, settlement.ended_at(), settlement.at)?;
        }
        NextStep::Delivered if settlement.is_replay => {
            tx.db.prepare_cached("DELETE FROM dead_letters WHERE delivery = ?1")?.execute([row])?;
        }
        NextStep::Delivered | NextStep::Retry { .. } => {}
    }
    if settlement.in_order && !matches!(settlement.next, NextStep::Retry { .. }) {
        order::move_up(tx, row)?;
    }
    let follow = accept_all(tx, &settlement.follow, node)?;
    Ok(SettleOutcome::Done { follow })
}

/// Updates a delivery only if this node still holds it (the fence).
fn advance(tx: &Tx<'_>, node: NodeId, row: i64, settlement: &Settlement) -> Result<bool, TxError> {
    let (state, due_at) = match &settlement.next {
        NextStep::Delivered => (State::Delivered, None),
        NextStep::Retry { due_at, .. } => (State::Pending, Some(due_at.micros())),
        NextStep::Dead(_) => (State::Dead, None),
    };
    let attempts = settlement.attempt.as_ref().map(|attempt| attempt.number);
    let changed = tx.statements.settle_delivery()?.execute(params![
        state.number(),
        due_at,
        attempts,
        row,
        node.0,
        settlement.tenant.bytes()
    ])?;
    Ok(changed == 1)
}

pub(crate) fn insert_attempt(tx: &Tx<'_>, row: i64, attempt: &Attempt) -> Result<(), TxError> {
    let failure = attempt.failure.as_ref();
    tx.statements.insert_attempt()?.execute(params![
        row,
        attempt.number,
        attempt.started_at.micros(),
        attempt.latency.as_micros() as i64,
        &*attempt.request_headers,
        attempt.response_status,
        &*attempt.response_headers,
        &*attempt.response_body,
        failure.map(|failure| failure.code().as_str()),
        failure.map(Failure::reason),
        attempt.next_at.map(Time::micros),
    ])?;
    Ok(())
}

/// Creates or renews the dead letter of a delivery that has just been given up. A test of a webhook leaves
/// none, because nobody needs it.
pub(crate) fn bury(
    tx: &Tx<'_>,
    row: i64,
    failure: &Failure,
    failed_at: Time,
    at: Time,
) -> Result<(), TxError> {
    tx.db
        .prepare_cached(
            "INSERT INTO dead_letters (delivery, tenant_id, lane, failed_attempts, code,
               reason, failed_at, moved_at, expires_at, provider_code)
             SELECT d.seq, d.tenant_id, d.lane, d.attempts, ?2, ?3, ?4, ?5, ?6, coalesce(?8,
               (SELECT a.response_status FROM attempts a
                WHERE a.delivery = d.seq AND a.number = d.attempts))
             FROM deliveries d
             WHERE d.seq = ?1 AND NOT (d.lane = ?7 AND EXISTS
               (SELECT 1 FROM parcels p WHERE p.seq = d.parcel AND p.is_test))
             ON CONFLICT (delivery) DO UPDATE SET failed_attempts = excluded.failed_attempts,
               code = excluded.code, reason = excluded.reason, failed_at = excluded.failed_at,
               moved_at = excluded.moved_at, expires_at = excluded.expires_at,
               provider_code = excluded.provider_code",
        )?
        .execute(params![
            row,
            failure.code().as_str(),
            failure.reason(),
            failed_at.micros(),
            at.micros(),
            (at + tx.dead_letter_ttl).micros(),
            Lane::Webhook.number(),
            failure.provider_code(),
        ])?;
    Ok(())
}
