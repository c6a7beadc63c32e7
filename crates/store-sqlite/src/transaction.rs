//! A transaction, which is written completely or not at all.

use std::{cell::Cell, time::Duration};

use gancho_store::Result;
use rusqlite::Connection;

use crate::{statements::Statements, tx_error::TxError, writer_cache::WriterCache};

/// The context of a step: the connection inside a transaction, and how to ring the bell once it is committed.
pub(crate) struct Tx<'a> {
    pub db: &'a Connection,
    pub dead_letter_ttl: Duration,
    pub cache: &'a WriterCache,
    pub statements: Statements<'a>,
    ring: Cell<bool>,
}

impl<'a> Tx<'a> {
    pub fn new(db: &'a Connection, cache: &'a WriterCache, dead_letter_ttl: Duration) -> Self {
        let statements = Statements::new(db);
        Self { db, dead_letter_ttl, cache, statements, ring: Cell::new(false) }
    }

    /// Wakes the claimers after the commit, because work became due.
    pub fn ring(&self) {
        self.ring.set(true);
    }

    pub fn has_rung(&self) -> bool {
        self.ring.get()
    }
}

/// Runs one step in its own transaction. Also returns whether to ring the bell.
pub(crate) fn alone<T>(
    db: &Connection,
    cache: &WriterCache,
    dead_letter_ttl: Duration,
    step: impl FnOnce(&Tx<'_>) -> Result<T, TxError>,
) -> Result<(T, bool)> {
    let tx = Tx::new(db, cache, dead_letter_ttl);
    let all = || -> Result<T, TxError> {
        begin(db)?;
        let result = step(&tx)?;
        commit(&tx)?;
        Ok(result)
    };
    match all() {
        Ok(result) => Ok((result, tx.has_rung())),
        Err(error) => {
            roll_back(&tx);
            Err(error.into())
        }
    }
}

pub(crate) fn begin(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(drop)
}

pub(crate) fn commit(tx: &Tx<'_>) -> rusqlite::Result<()> {
    tx.db.prepare_cached("COMMIT")?.execute([])?;
    tx.cache.commit();
    Ok(())
}

pub(crate) fn roll_back(tx: &Tx<'_>) {
    tx.cache.roll_back();
    // Some errors roll back by themselves.
    if !tx.db.is_autocommit() {
        let _ = tx.db.execute_batch("ROLLBACK");
    }
}
