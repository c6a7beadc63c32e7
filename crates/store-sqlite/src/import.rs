//! Imports dead letters.

use std::sync::Arc;

use gancho_domain::{DeliveryId, ParcelId, State, TenantId, Time};
use gancho_store::{FullDeadLetter, ImportOutcome, NewDelivery, NewParcel, NodeId};
use rusqlite::params;

use crate::{
    accept::{insert_delivery, insert_parcel, next_number},
    external_ids,
    redeliver::append,
    rows::{self, seq},
    settle::insert_attempt,
    time_buckets,
    transaction::Tx,
    tx_error::TxError,
    writer::pages,
};

/// Returns about how many rows the import writes.
pub(crate) fn rows(whole: &FullDeadLetter) -> usize {
    // The parcel, the delivery and the dead letter.
    3 + whole.attempts.len() + pages(whole.letter.original.len())
}

pub(crate) fn import(
    tx: &Tx<'_>,
    whole: &FullDeadLetter,
    now: Time,
) -> Result<ImportOutcome, TxError> {
    let letter = &whole.letter;
    if let Some(known) = delivery(tx, letter.delivery)? {
        if (known.id, known.tenant) != (letter.delivery, letter.tenant) {
            return Ok(ImportOutcome::Clash);
        }
        if known.state != State::Dead {
            return Ok(ImportOutcome::Revived);
        }
        if known.has_letter {
            return Ok(ImportOutcome::Present);
        }
        if known.is_erased {
            return Ok(ImportOutcome::Erased);
        }
    } else if let Some(outcome) = restore(tx, whole)? {
        return Ok(outcome);
    }
    bury(tx, whole, now)?;
    Ok(ImportOutcome::Imported)
}

struct StoredDelivery {
    id: DeliveryId,
    tenant: TenantId,
    state: State,
    has_letter: bool,
    is_erased: bool,
}

fn delivery(tx: &Tx<'_>, id: DeliveryId) -> Result<Option<StoredDelivery>, TxError> {
    let mut find = tx.db.prepare_cached(
        "SELECT d.id, d.tenant_id, d.state,
           EXISTS (SELECT 1 FROM dead_letters l WHERE l.delivery = d.seq),
           EXISTS (SELECT 1 FROM parcels p WHERE p.seq = d.parcel AND p.erased_at IS NOT NULL)
         FROM deliveries d WHERE d.seq = ?1",
    )?;
    let mut found = find.query([seq(id)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some(StoredDelivery {
        id: rows::id(row, 0)?,
        tenant: rows::id(row, 1)?,
        state: rows::state(row, 2)?,
        has_letter: row.get(3)?,
        is_erased: row.get(4)?,
    }))
}

/// Restores what was pruned of it, except the dead letter. Returns the outcome if that is impossible.
fn restore(tx: &Tx<'_>, whole: &FullDeadLetter) -> Result<Option<ImportOutcome>, TxError> {
    let letter = &whole.letter;
    let new = NewParcel {
        parcel: Arc::new(letter.to_parcel()),
        once: None,
        ledger: None,
        deliveries: vec![NewDelivery {
            id: letter.delivery,
            lane: letter.lane,
            target: letter.target,
            due_at: letter.enqueued_at,
            in_order: false,
            hold: false,
        }],
    };
    let to = &new.deliveries[0];
    match parcel(tx, letter.parcel)? {
        Some((id, tenant, _)) if (id, tenant) != (letter.parcel, letter.tenant) => {
            return Ok(Some(ImportOutcome::Clash));
        }
        Some((.., true)) => return Ok(Some(ImportOutcome::Erased)),
        Some(_) => {
            append(tx, letter.parcel, to)?;
        }
        None => {
            let number = next_number(tx, &new.parcel)?;
            insert_parcel(tx, &new, number)?;
            external_ids::write(tx, &new.parcel)?;
            time_buckets::note_parcel(tx, &new.parcel, to, to.target)?;
        }
    }
    insert_delivery(tx, &new.parcel, to, None, State::Dead, NodeId(0))?;
    time_buckets::note_delivery(tx, letter.tenant, to)?;
    let row = seq(letter.delivery);
    tx.db
        .prepare_cached("UPDATE deliveries SET attempts = ?2 WHERE seq = ?1")?
        .execute(params![row, whole.attempts_made()])?;
    for attempt in &whole.attempts {
        insert_attempt(tx, row, attempt)?;
    }
    Ok(None)
}

fn parcel(tx: &Tx<'_>, id: ParcelId) -> Result<Option<(ParcelId, TenantId, bool)>, TxError> {
    let mut find = tx.db.prepare_cached(
        "SELECT id, tenant_id, erased_at IS NOT NULL FROM parcels WHERE seq = ?1",
    )?;
    let mut found = find.query([seq(id)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some((rows::id(row, 0)?, rows::id(row, 1)?, row.get(2)?)))
}

fn bury(tx: &Tx<'_>, whole: &FullDeadLetter, now: Time) -> Result<(), TxError> {
    let letter = &whole.letter;
    tx.db
        .prepare_cached(
            "INSERT INTO dead_letters (delivery, tenant_id, lane, failed_attempts, code, reason,
               failed_at, moved_at, expires_at, provider_code)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            seq(letter.delivery),
            letter.tenant.bytes(),
            letter.lane.number(),
            letter.failed_attempts,
            letter.failure.code().as_str(),
            letter.failure.reason(),
            letter.failed_at.micros(),
            letter.moved_at.micros(),
            (now + tx.dead_letter_ttl).micros(),
            letter.failure.provider_code(),
        ])?;
    // It expires as if it became a dead letter now, also if the tenant has a retention of its own.
    tx.db
        .prepare_cached(
            "UPDATE dead_letters SET expires_at = coalesce(?2 +
               (SELECT t.keep_dead_us FROM tenants t WHERE t.id = tenant_id), expires_at)
             WHERE delivery = ?1",
        )?
        .execute(params![seq(letter.delivery), now.micros()])?;
    Ok(())
}
