//! Parcels with very many deliveries, which are placed part by part.
//!
//! Each delivery changes a page of its own in the index of pending deliveries, so a thousand of them would
//! delay every other caller of the one writer. Only the first part is placed with the parcel. The others are
//! stored as compact lists in the same transaction, so nothing can be lost. A part becomes rows when it is
//! placed, once.
//!
//! Such a parcel has one [time bucket](crate::time_buckets) for all of its targets together.

use gancho_domain::{DeliveryId, Lane, Time};
use gancho_store::{NewDelivery, NewParcel, NodeId, ParcelPart, Placement, TargetId};
use rusqlite::params;

use crate::{
    accept::place,
    rows::{self, PARCEL, first_seq_at, seq},
    time_buckets,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

/// Maximum deliveries that one transaction places.
pub(crate) const MAX_PLACED: usize = 128;

/// Stores the deliveries from `part` on for later.
pub(crate) fn store_parts(
    tx: &Tx<'_>,
    new: &NewParcel,
    number: Option<u64>,
    part: usize,
) -> Result<(), TxError> {
    let parcel = &new.parcel;
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO fan_out_parts (parcel, first, deliveries, tenant_id, subject, number)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (turn, list) in new.deliveries.chunks(part).enumerate().skip(1) {
        let is_ordered = list.iter().any(|one| one.in_order);
        insert.execute(params![
            seq(parcel.id),
            (turn * part) as i64,
            encode(list),
            parcel.tenant.bytes(),
            parcel.subject.as_deref().filter(|_| is_ordered),
            number.map(|number| number as i64),
        ])?;
    }
    Ok(())
}

/// Whether a part that is not placed yet has an earlier delivery of the subject to the target.
pub(crate) fn has_earlier(
    tx: &Tx<'_>,
    tenant: &[u8; 16],
    target: &[u8; 16],
    subject: &str,
    number: i64,
) -> Result<bool, TxError> {
    Ok(tx
        .db
        .prepare_cached(
            "SELECT 1 FROM fan_out_parts INDEXED BY fan_out_parts_in_order
             WHERE tenant_id = ?1 AND subject = ?2 AND subject IS NOT NULL AND number < ?3
               AND instr(deliveries, ?4) > 0 LIMIT 1",
        )?
        .exists(params![tenant, subject, number, target])?)
}

/// Places a part. Returns nothing if it was placed before.
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
    let mut placed = Vec::with_capacity(part.deliveries.len());
    for delivery in &part.deliveries {
        placed.push(place(tx, &part.parcel, part.number, delivery, holder)?);
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
    let first: i64 = row.get(12)?;
    let deliveries = decode(&row.get::<_, Vec<u8>>(13)?)?;
    Ok(Some(ParcelPart { parcel, number, first: first as usize, deliveries }))
}

/// Id, target, due time and lane. The highest bit of the lane says whether the delivery is ordered.
const ENTRY: usize = 16 + 16 + 8 + 2;
const IN_ORDER: u16 = 1 << 15;

fn encode(deliveries: &[NewDelivery]) -> Vec<u8> {
    let mut list = Vec::with_capacity(deliveries.len() * ENTRY);
    for new in deliveries {
        list.extend_from_slice(&new.id.bytes());
        list.extend_from_slice(&new.target.bytes());
        list.extend_from_slice(&new.due_at.micros().to_be_bytes());
        let order = if new.in_order { IN_ORDER } else { 0 };
        list.extend_from_slice(&(new.lane.number() as u16 | order).to_be_bytes());
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
    let lane = u16::from_be_bytes(*lane.first_chunk()?);
    Some(NewDelivery {
        id: DeliveryId::from_bytes(*id),
        lane: Lane::from_number((lane & !IN_ORDER) as i16)?,
        target: TargetId::from_bytes(*target),
        due_at: Time::from_micros(i64::from_be_bytes(*due_at)),
        in_order: lane & IN_ORDER != 0,
        hold: false,
    })
}
