//! Prefixes of parcels' bodies.

use std::io::Read;

use bytes::Bytes;
use gancho_domain::{ParcelId, TenantScope};
use rusqlite::{Connection, MAIN_DB, params};

use crate::{
    rows::seq,
    tx_error::{TxError, corrupt},
};

/// Reads prefixes with SQLite's incremental I/O, which reads only the pages of the prefix. A statement would
/// read the whole body, because SQLite passes all of it to functions such as `substr`.
pub(crate) fn body_prefixes(
    db: &Connection,
    scope: TenantScope,
    ids: &[ParcelId],
    max_bytes: usize,
) -> Result<Vec<(ParcelId, Bytes)>, TxError> {
    let mut find =
        db.prepare_cached("SELECT seq FROM parcels WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3")?;
    let mut body_prefixes = Vec::with_capacity(ids.len());
    for id in ids {
        // The query stays open until the body is open, so that both see the same state of the database.
        let mut found = find.query(params![seq(*id), id.bytes(), scope.tenant().bytes()])?;
        if found.next()?.is_none() {
            continue;
        }
        let mut body = db.blob_open(MAIN_DB, c"parcels", c"body", seq(*id), true)?;
        let mut prefix = vec![0; body.len().min(max_bytes)];
        let read = body.read_exact(&mut prefix);
        read.map_err(|error| corrupt(format!("the body of {id} cannot be read: {error}")))?;
        body_prefixes.push((*id, Bytes::from(prefix)));
    }
    Ok(body_prefixes)
}
