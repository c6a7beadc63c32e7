//! The callers' own ids of parcels that are still in the [key buffer](crate::key_buffer).

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, SystemClock, TenantId};
use rusqlite::Connection;

use crate::{
    key_buffer::{KeyBuffer, flush_at_open},
    rows,
    tx_error::TxError,
};

/// A tenant, its own id of a parcel, and the parcel. Several parcels may have one id.
pub(crate) type ExternalId = (TenantId, Arc<str>, i64);

pub(crate) type ExternalIds = KeyBuffer<ExternalId, ()>;

pub(crate) fn load(db: &Connection, flush_at: usize) -> Result<ExternalIds, TxError> {
    let all = "INSERT OR IGNORE INTO external_ids (tenant_id, external_id, parcel)
         SELECT tenant_id, external_id, parcel FROM external_lately ORDER BY 1, 2, 3";
    // Lines whose parcels were removed after a flush had passed them. Younger lines cannot be among them.
    let old = rows::first_seq_at(SystemClock.now() - Duration::from_hours(1));
    db.execute(
        "DELETE FROM external_lately
         WHERE parcel < ?1 AND NOT EXISTS (SELECT 1 FROM parcels p WHERE p.seq = parcel)",
        [old],
    )?;
    flush_at_open(db, "external_lately", flush_at, all)?;
    let mut list = db.prepare(
        "SELECT line, tenant_id, external_id, parcel FROM external_lately ORDER BY line",
    )?;
    let mut found = list.query([])?;
    let mut table = Vec::new();
    while let Some(row) = found.next()? {
        table.push((row.get(0)?, (rows::id(row, 1)?, row.get(2)?, row.get(3)?), ()));
    }
    Ok(KeyBuffer::new(table, flush_at))
}
