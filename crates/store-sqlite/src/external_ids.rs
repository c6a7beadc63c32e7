//! The callers' own ids of parcels, in a [key buffer](crate::key_buffer) and in a tree. Searches read both,
//! through the view `named`.

use std::sync::Arc;

use gancho_domain::{Parcel, TenantId};
use rusqlite::{OptionalExtension, params};

use crate::{rows::seq, transaction::Tx, tx_error::TxError};

pub(crate) fn write(tx: &Tx<'_>, parcel: &Parcel) -> Result<(), TxError> {
    let Some(external_id) = &parcel.external_id else { return Ok(()) };
    let (tenant, row) = (parcel.tenant, seq(parcel.id));
    let line = tx.cache.external_ids.add((tenant, (**external_id).into(), row), ());
    tx.db
        .prepare_cached(
            "INSERT INTO external_lately (line, tenant_id, external_id, parcel)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![line, tenant.bytes(), external_id, row])?;
    flush(tx)
}

fn flush(tx: &Tx<'_>) -> Result<(), TxError> {
    let Some(names) = tx.cache.external_ids.flush(tx.db, "external_lately")? else { return Ok(()) };
    let mut insert = tx.db.prepare_cached(
        "INSERT OR IGNORE INTO external_ids (tenant_id, external_id, parcel) VALUES (?1, ?2, ?3)",
    )?;
    for ((tenant, external_id, parcel), ()) in names {
        insert.execute(params![tenant.bytes(), external_id, parcel])?;
    }
    Ok(())
}

/// Forgets the id of a parcel that is about to be removed. A line that a flush has passed may still name it
/// until it is trimmed, so searches look up the parcels themselves.
pub(crate) fn forget(tx: &Tx<'_>, parcel: i64) -> Result<(), TxError> {
    let name: Option<(TenantId, Option<Arc<str>>)> = tx
        .db
        .prepare_cached("SELECT tenant_id, external_id FROM parcels WHERE seq = ?1")?
        .query_row([parcel], |row| Ok((TenantId::from_bytes(row.get(0)?), row.get(1)?)))
        .optional()?;
    let Some((tenant, Some(external_id))) = name else { return Ok(()) };
    tx.db
        .prepare_cached(
            "DELETE FROM external_ids WHERE tenant_id = ?1 AND external_id = ?2 AND parcel = ?3",
        )?
        .execute(params![tenant.bytes(), external_id, parcel])?;
    let name = (tenant, external_id, parcel);
    if let Some((line, ())) = tx.cache.external_ids.find(&name) {
        tx.cache.external_ids.remove(&name);
        tx.db.prepare_cached("DELETE FROM external_lately WHERE line = ?1")?.execute([line])?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
