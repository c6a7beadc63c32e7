//! Parcels with very many deliveries, which are placed part by part.
//!
//! Each delivery changes a page of its own in the index of what is pending, so a thousand of them would hold up
//! every other caller of the one writer. Only the first part is placed with the parcel. The rest is stored as
//! compact lists in the same transaction: nothing can be lost, and a part becomes rows when it is placed, once.
//!
//! Such a parcel has one [time bucket](crate::time_buckets) for all of its targets together.

use gancho_domain::{DeliveryId, Lane, Time};
use gancho_store::{NewDelivery, NodeId, ParcelPart, Placement, TargetId};
use rusqlite::params;

use crate::{
    accept::{AcceptStatements, place},
    rows::{self, PARCEL, first_seq_at, seq},
    time_buckets,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

/// Deliveries that are placed in one transaction.
pub(crate) const MAX_PLACED: usize = 128;

/// Stores the deliveries from `part` on for later.
pub(crate) fn store_parts(
    tx: &Tx<'_>,
    parcel: i64,
    deliveries: &[NewDelivery],
    part: usize,
) -> Result<(), TxError> {
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO fan_out_parts (parcel, first, deliveries) VALUES (?1, ?2, ?3)",
    )?;
    for (turn, list) in deliveries.chunks(part).enumerate().skip(1) {
        insert.execute(params![parcel, (turn * part) as i64, encode(list)])?;
    }
    Ok(())
}

/// Nothing, if it was placed before.
pub(crate) fn place_part(
    tx: &Tx<'_>,
    part: &ParcelPart,
    holder: NodeId,
) -> Result<Vec<Placement>, TxError> {
    let removed = tx
        .db
        .prepare_cached("DELETE FROM fan_out_parts WHERE parcel = ?1 AND first = ?2")?
        .execute(params![seq(part.parcel.id), part.first as i64])?;
    if removed == 0 {
        return Ok(Vec::new());
    }
    let mut statements = AcceptStatements::new(tx, holder)?;
    let mut placed = Vec::with_capacity(part.deliveries.len());
    for delivery in &part.deliveries {
        placed.push(place(tx, &mut statements, &part.parcel, part.number, delivery)?);
        time_buckets::note_wide(tx, part.parcel.tenant, delivery)?;
    }
    Ok(placed)
}

pub(crate) fn place_left_parts(tx: &Tx<'_>, before: Time, max: usize) -> Result<usize, TxError> {
    let mut count = 0;
    while count < max
        && let Some(part) = oldest_part(tx, before)?
    {
        place_part(tx, &part, NodeId(0))?;
        count += part.deliveries.len();
    }
    Ok(count)
}

fn oldest_part(tx: &Tx<'_>, before: Time) -> Result<Option<ParcelPart>, TxError> {
    let sql = format!(
        "SELECT {PARCEL}, f.first, f.deliveries FROM fan_out_parts f JOIN parcels p ON p.seq = f.parcel
         WHERE f.parcel < ?1 ORDER BY f.parcel, f.first LIMIT 1"
    );
    let mut find = tx.db.prepare_cached(&sql)?;
    let mut found = find.query([first_seq_at(before)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (parcel, number) = rows::parcel(row, 0)?;
    let first: i64 = row.get(10)?;
    let deliveries = decode(&row.get::<_, Vec<u8>>(11)?)?;
    Ok(Some(ParcelPart { parcel, number, first: first as usize, deliveries }))
}

/// Id, target, when it is due, lane.
const ENTRY: usize = 16 + 16 + 8 + 2;

fn encode(deliveries: &[NewDelivery]) -> Vec<u8> {
    let mut list = Vec::with_capacity(deliveries.len() * ENTRY);
    for new in deliveries {
        list.extend_from_slice(&new.id.bytes());
        list.extend_from_slice(&new.target.bytes());
        list.extend_from_slice(&new.due_at.micros().to_be_bytes());
        list.extend_from_slice(&new.lane.number().to_be_bytes());
    }
    list
}

fn decode(list: &[u8]) -> Result<Vec<NewDelivery>, TxError> {
    let (entries, rest) = list.as_chunks::<ENTRY>();
    let deliveries: Option<Vec<_>> = entries.iter().map(entry).collect();
    deliveries
        .filter(|_| rest.is_empty())
        .ok_or_else(|| corrupt("a part of a fan-out cannot be read"))
}

fn entry(bytes: &[u8; ENTRY]) -> Option<NewDelivery> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (target, rest) = rest.split_first_chunk()?;
    let (due_at, lane) = rest.split_first_chunk()?;
    Some(NewDelivery {
        id: DeliveryId::from_bytes(*id),
        lane: Lane::from_number(i16::from_be_bytes(*lane.first_chunk()?))?,
        target: TargetId::from_bytes(*target),
        due_at: Time::from_micros(i64::from_be_bytes(*due_at)),
        in_order: false,
        hold: false,
    })
}
