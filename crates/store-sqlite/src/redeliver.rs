//! Sends a stored event to more targets.

use gancho_domain::{EventId, Parcel, TenantScope};
use gancho_store::{NewDelivery, NodeId};
use rusqlite::params;

use crate::{
    accept::place,
    erasure::unreadably,
    rows::{self, PARCEL, seq},
    time_buckets,
    transaction::Tx,
    tx_error::TxError,
};

/// Redelivers an event. Skips deliveries that the event has already, so that a repeated call does no harm.
pub(crate) fn redeliver(
    tx: &Tx<'_>,
    scope: TenantScope,
    event: EventId,
    deliveries: &[NewDelivery],
) -> Result<bool, TxError> {
    let mut find = tx.db.prepare_cached(&format!(
        "SELECT {PARCEL} FROM parcels p WHERE p.seq = ?1 AND p.id = ?2 AND p.tenant_id = ?3"
    ))?;
    let mut found = find.query(params![seq(event), event.bytes(), scope.tenant().bytes()])?;
    let Some(row) = found.next()? else {
        return Ok(false);
    };
    let (parcel, number) = rows::parcel(row, 0)?;
    drop(found);
    if parcel.erased_at.is_some() {
        return Ok(false);
    }
    for new in deliveries {
        if !append(tx, event, new)? {
            continue;
        }
        // Its expiry counts from its creation: with the event's own time, that of an old event would be
        // expired at once.
        let parcel = Parcel { created_at: new.id.time(), ..Parcel::clone(&parcel) };
        let new = NewDelivery { hold: false, ..new.clone() };
        place(tx, &parcel, number, &new, NodeId(0))?;
        time_buckets::note_delivery(tx, parcel.tenant, &new)?;
    }
    Ok(true)
}

/// Adds the delivery to the parcel's list, unless it is there.
pub(crate) fn append(tx: &Tx<'_>, event: EventId, new: &NewDelivery) -> Result<bool, TxError> {
    let mut add = tx.db.prepare_cached(
        "UPDATE parcels SET sent_later = (sent_later OR deliveries = '[]'),
           deliveries = json_insert(deliveries, '$[#]', ?2)
         WHERE seq = ?1 AND NOT EXISTS
           (SELECT 1 FROM json_each(deliveries) j WHERE j.value = ?2)",
    )?;
    // A large body moves to other pages. It must not stay in the old ones, because it may be erased later.
    let added = unreadably(tx, || Ok(add.execute(params![seq(event), seq(new.id)])?))?;
    Ok(added == 1)
}
