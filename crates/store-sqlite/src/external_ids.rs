//! By which ids of the caller's own parcels are found: in a table of what came [`lately`](crate::lately),
//! and in a tree. Whoever searches reads both, through the view `named`.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Parcel, SystemClock, TenantId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    fault::Fault,
    lately::{Lately, sweep_at_once},
    rows,
    rows::seq,
    transaction::Tx,
};

/// Several parcels may bear one id.
pub(crate) type Name = (TenantId, Arc<str>, i64);

pub(crate) fn load(db: &Connection, enough: usize) -> Result<Lately<Name, ()>, Fault> {
    let all = "INSERT OR IGNORE INTO external_ids (tenant_id, external_id, parcel)
         SELECT tenant_id, external_id, parcel FROM external_lately ORDER BY 1, 2, 3";
    // Lines that a sweep had passed when their parcels were removed. What is younger was not.
    let old = rows::first_seq_at(SystemClock.now() - Duration::from_hours(1));
    db.execute(
        "DELETE FROM external_lately
         WHERE parcel < ?1 AND NOT EXISTS (SELECT 1 FROM parcels p WHERE p.seq = parcel)",
        [old],
    )?;
    sweep_at_once(db, "external_lately", enough, all)?;
    let mut list = db.prepare(
        "SELECT line, tenant_id, external_id, parcel FROM external_lately ORDER BY line",
    )?;
    let mut found = list.query([])?;
    let mut table = Vec::new();
    while let Some(row) = found.next()? {
        table.push((row.get(0)?, (rows::id(row, 1)?, row.get(2)?, row.get(3)?), ()));
    }
    Ok(Lately::new(table, enough))
}

pub(crate) fn write(tx: &Tx<'_>, parcel: &Parcel) -> Result<(), Fault> {
    let Some(external_id) = &parcel.external_id else { return Ok(()) };
    let (tenant, row) = (parcel.tenant, seq(parcel.id));
    let line = tx.known.names.add((tenant, (**external_id).into(), row), ());
    tx.db
        .prepare_cached(
            "INSERT INTO external_lately (line, tenant_id, external_id, parcel)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![line, tenant.bytes(), external_id, row])?;
    sweep(tx)
}

fn sweep(tx: &Tx<'_>) -> Result<(), Fault> {
    let Some(names) = tx.known.names.sweep(tx.db, "external_lately")? else { return Ok(()) };
    let mut insert = tx.db.prepare_cached(
        "INSERT OR IGNORE INTO external_ids (tenant_id, external_id, parcel) VALUES (?1, ?2, ?3)",
    )?;
    for ((tenant, external_id, parcel), ()) in names {
        insert.execute(params![tenant.bytes(), external_id, parcel])?;
    }
    Ok(())
}

/// For a parcel that is about to be removed. A line that a sweep has passed may name it still, until it is
/// cut off: whoever searches looks for the parcels themselves.
pub(crate) fn forget(tx: &Tx<'_>, parcel: i64) -> Result<(), Fault> {
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
    if let Some((line, ())) = tx.known.names.find(&name) {
        tx.known.names.remove(&name);
        tx.db.prepare_cached("DELETE FROM external_lately WHERE line = ?1")?.execute([line])?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
