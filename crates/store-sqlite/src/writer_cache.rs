//! The writer's cache of rows, which saves reading them. It follows the transaction: a rollback of the tables
//! also rolls back the cache.

mod external_ids;
mod once_keys;
mod recent_buckets;

use std::cell::Cell;

use gancho_ledger::Head;
use rusqlite::Connection;

pub(crate) use self::{
    external_ids::ExternalIds,
    once_keys::{FIRST, HashPrefix, KeyUse, LAST, OnceKey, OnceKeys},
    recent_buckets::{LaneTarget, RecentBuckets},
};
use crate::tx_error::TxError;

pub(crate) struct WriterCache {
    pub recent_buckets: RecentBuckets,
    pub once_keys: OnceKeys,
    pub external_ids: ExternalIds,
    pub ledger_head: Cell<Option<Head>>,
}

impl WriterCache {
    /// Loads the cache. `flush_at` keys of one kind start a flush.
    pub fn load(db: &Connection, flush_at: usize) -> Result<Self, TxError> {
        Ok(Self {
            recent_buckets: RecentBuckets::default(),
            once_keys: OnceKeys::load(db, flush_at)?,
            external_ids: external_ids::load(db, flush_at)?,
            ledger_head: Cell::default(),
        })
    }

    /// Notes that the transaction was committed.
    pub fn commit(&self) {
        self.once_keys.buffer.commit();
        self.external_ids.commit();
    }

    /// Notes that the transaction was rolled back: what it wrote is discarded.
    pub fn roll_back(&self) {
        self.recent_buckets.clear();
        self.once_keys.buffer.roll_back();
        self.external_ids.roll_back();
        self.ledger_head.set(None);
    }
}
