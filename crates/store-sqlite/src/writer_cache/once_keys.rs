//! The idempotency keys that are still in the [key buffer](crate::key_buffer), and the progress of upkeep in
//! forgetting keys.

use std::cell::Cell;

use gancho_domain::{ParcelId, TenantId, Time};
use rusqlite::{Connection, Row};

use crate::{
    key_buffer::{KeyBuffer, flush_at_open},
    rows,
    tx_error::TxError,
};

/// Half of each hash, which is enough to distinguish them.
pub(crate) type HashPrefix = [u8; 16];
pub(crate) type OnceKey = (TenantId, HashPrefix);

pub(crate) const FIRST: OnceKey = (TenantId::from_bits(0), [0; 16]);
pub(crate) const LAST: OnceKey = (TenantId::from_bits(u128::MAX), [u8::MAX; 16]);

/// What a key was used for.
#[derive(Clone, Copy)]
pub(crate) struct KeyUse {
    pub first: ParcelId,
    pub content: HashPrefix,
    pub until: Time,
}

impl KeyUse {
    /// Reads it from the first three columns.
    pub fn read(row: &Row<'_>) -> Result<Self, TxError> {
        Ok(Self { first: rows::id(row, 0)?, content: row.get(1)?, until: rows::time(row, 2)? })
    }
}

pub(crate) struct OnceKeys {
    pub buffer: KeyBuffer<OnceKey, KeyUse>,
    /// Where the next scan for expired keys begins.
    pub next_look: Cell<OnceKey>,
    /// Keys that ended before this are expired: the time of the last upkeep, which pauses while the clock may
    /// be wrong.
    pub expired_by: Cell<Time>,
}

impl OnceKeys {
    pub fn load(db: &Connection, flush_at: usize) -> Result<Self, TxError> {
        let all = "INSERT OR REPLACE INTO once_keys (tenant_id, key, content, parcel_id, until)
             SELECT tenant_id, key, content, parcel_id, until FROM once_lately
             ORDER BY tenant_id, key, line";
        flush_at_open(db, "once_lately", flush_at, all)?;
        let mut list = db.prepare(
            "SELECT parcel_id, content, until, line, tenant_id, key FROM once_lately ORDER BY line",
        )?;
        let mut found = list.query([])?;
        let mut table = Vec::new();
        while let Some(row) = found.next()? {
            table.push((row.get(3)?, (rows::id(row, 4)?, row.get(5)?), KeyUse::read(row)?));
        }
        Ok(Self {
            buffer: KeyBuffer::new(table, flush_at),
            next_look: Cell::new(FIRST),
            expired_by: Cell::default(),
        })
    }
}
