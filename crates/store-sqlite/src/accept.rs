//! Stores a parcel and its deliveries.

use async_trait::async_trait;
use gancho_domain::{Failure, Parcel, State, Time, TraceContext};
use gancho_store::{
    Accept, AcceptOutcome, NewDelivery, NewParcel, NodeId, ParcelPart, Placement, Result,
};
use rusqlite::params;

use crate::{
    SqliteStore, external_ids, fan_out, idempotency, ledger, order, rows::seq, settle::bury,
    time_buckets, transaction::Tx, tx_error::TxError,
};

#[async_trait]
impl Accept for SqliteStore {
    fn max_placed(&self) -> usize {
        self.max_placed
    }

    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>> {
        let max = self.max_placed;
        self.write_more(move |tx| accept_in_parts(tx, &parcels, holder, max)).await
    }

    async fn place_part(&self, part: ParcelPart, holder: NodeId) -> Result<Vec<Placement>> {
        self.write(move |tx| fan_out::place_part(tx, &part, holder)).await
    }

    async fn place_left_parts(&self, before: Time, max: usize) -> Result<usize> {
        self.write(move |tx| fan_out::place_left_parts(tx, before, max)).await
    }
}

pub(crate) fn accept_all(
    tx: &Tx<'_>,
    parcels: &[NewParcel],
    holder: NodeId,
) -> Result<Vec<AcceptOutcome>, TxError> {
    accept_in_parts(tx, parcels, holder, usize::MAX)
}

/// Accepts a parcel. If it has more than `max_placed` deliveries, the others are stored for later.
fn accept_in_parts(
    tx: &Tx<'_>,
    parcels: &[NewParcel],
    holder: NodeId,
    max_placed: usize,
) -> Result<Vec<AcceptOutcome>, TxError> {
    parcels.iter().map(|new| accept_one(tx, new, holder, max_placed)).collect()
}

fn accept_one(
    tx: &Tx<'_>,
    new: &NewParcel,
    holder: NodeId,
    max_placed: usize,
) -> Result<AcceptOutcome, TxError> {
    if let Some(once) = &new.once
        && let Some(seen) = idempotency::seen_before(tx, &new.parcel, once)?
    {
        return Ok(seen);
    }
    let number = next_number(tx, &new.parcel)?;
    insert_parcel(tx, new, number)?;
    external_ids::write(tx, &new.parcel)?;
    if let Some(received) = &new.ledger {
        ledger::append(tx, new.parcel.id, &received.entry)?;
        if let Some(failure) = &received.withheld {
            return withhold(tx, new, number, holder, failure);
        }
    }
    let count = new.placed_at_once(max_placed);
    let is_wide = count < new.deliveries.len();
    let mut placed = Vec::with_capacity(count);
    for delivery in &new.deliveries[..count] {
        placed.push(place(tx, &new.parcel, number, delivery, holder)?);
        if is_wide {
            time_buckets::note_wide(tx, new.parcel.tenant, delivery)?;
        } else {
            time_buckets::note_delivery(tx, new.parcel.tenant, delivery)?;
        }
    }
    if is_wide {
        fan_out::store_parts(tx, new, number, count)?;
    }
    if let Some(first) = new.deliveries.first() {
        let target = if is_wide { time_buckets::ANY_TARGET } else { first.target };
        time_buckets::note_parcel(tx, &new.parcel, first, target)?;
    }
    Ok(AcceptOutcome::New { number, placed })
}

/// Gives the parcel's deliveries up before they are tried.
fn withhold(
    tx: &Tx<'_>,
    new: &NewParcel,
    number: Option<u64>,
    holder: NodeId,
    failure: &Failure,
) -> Result<AcceptOutcome, TxError> {
    let parcel = &new.parcel;
    for delivery in &new.deliveries {
        insert_delivery(tx, parcel, delivery, None, State::Dead, holder)?;
        time_buckets::note_delivery(tx, parcel.tenant, delivery)?;
        bury(tx, seq(delivery.id), failure, parcel.created_at, parcel.created_at)?;
    }
    Ok(AcceptOutcome::New { number, placed: vec![Placement::Dead; new.deliveries.len()] })
}

pub(crate) fn next_number(tx: &Tx<'_>, parcel: &Parcel) -> Result<Option<u64>, TxError> {
    let Some(subject) = &parcel.subject else {
        return Ok(None);
    };
    let number: i64 = tx
        .db
        .prepare_cached(
            "INSERT INTO subjects (tenant_id, subject, last) VALUES (?1, ?2, 1)
             ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last",
        )?
        .query_row(params![parcel.tenant.bytes(), subject], |row| row.get(0))?;
    Ok(Some(number as u64))
}

pub(crate) fn insert_parcel(
    tx: &Tx<'_>,
    new: &NewParcel,
    number: Option<u64>,
) -> Result<(), TxError> {
    let parcel = &new.parcel;
    tx.statements.insert_parcel()?.execute(params![
        seq(parcel.id),
        parcel.tenant.bytes(),
        parcel.id.bytes(),
        parcel.kind.number(),
        parcel.event_type,
        parcel.subject,
        parcel.external_id,
        number.map(|number| number as i64),
        parcel.is_test,
        seq_list(&new.deliveries),
        parcel.created_at.micros(),
        &*parcel.body,
        new.ledger.as_ref().map(|received| &*received.request),
        parcel.trace.map(TraceContext::to_bytes),
    ])?;
    Ok(())
}

/// Returns the row numbers as a JSON array.
fn seq_list(deliveries: &[NewDelivery]) -> String {
    let mut list = String::with_capacity(2 + 20 * deliveries.len());
    list.push('[');
    for (place, delivery) in deliveries.iter().enumerate() {
        if place > 0 {
            list.push(',');
        }
        list.push_str(&seq(delivery.id).to_string());
    }
    list.push(']');
    list
}

pub(crate) fn place(
    tx: &Tx<'_>,
    parcel: &Parcel,
    number: Option<u64>,
    new: &NewDelivery,
    holder: NodeId,
) -> Result<Placement, TxError> {
    let subject = parcel.subject.as_deref().filter(|_| new.in_order);
    let turn = subject.zip(number);
    let blocked = match turn {
        Some((subject, number)) => {
            order::must_wait(tx, parcel.tenant, new.target, subject, number)?
        }
        None => false,
    };
    let (placed, state) = match (blocked, new.hold) {
        (true, _) => (Placement::Waiting, State::Waiting),
        (false, true) => (Placement::Leased, State::Leased),
        (false, false) => (Placement::Pending, State::Pending),
    };
    if placed == Placement::Pending {
        tx.ring();
    }
    insert_delivery(tx, parcel, new, turn, state, holder)?;
    Ok(placed)
}

pub(crate) fn insert_delivery(
    tx: &Tx<'_>,
    parcel: &Parcel,
    new: &NewDelivery,
    turn: Option<(&str, u64)>,
    state: State,
    holder: NodeId,
) -> Result<(), TxError> {
    tx.statements.insert_delivery()?.execute(params![
        seq(new.id),
        parcel.tenant.bytes(),
        new.id.bytes(),
        new.lane.number(),
        new.target.bytes(),
        seq(parcel.id),
        turn.map(|(subject, _)| subject),
        turn.map(|(_, number)| number as i64),
        state.number(),
        new.due_at.micros(),
        holder.0,
        parcel.created_at.micros(),
    ])?;
    Ok(())
}
