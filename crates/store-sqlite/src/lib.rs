//! The embedded store: SQLite in the process, one writer, and readers beside it.
//!
//! In reading order: [`open`] checks and opens a file, with [`file_lock`] to keep other processes out;
//! [`writer`] is the one thread that commits, for many callers at a time, with a [`writer_cache`] and a
//! [`key_buffer`]; [`wal`] checkpoints its write-ahead log; [`time_buckets`] index a target's deliveries;
//! [`readers`] run look-ups; [`tx_error`] turns failures into store errors. The other files have the names of
//! the contract's and contain its SQL. [`events`], [`body_prefixes`] and [`redeliver`] are parts of
//! deliveries, whose lists are found by a bounded [`scan`]; [`walk`] is a part of claiming, [`prune`] one of
//! upkeep.
//!
//! **Invariants.** A call returns only after the commit that contains it was synced (`synchronous=FULL`, set
//! and read back). After an I/O error nothing more is written until the file is opened again. One process at
//! a time has the file open, by a lock beside it; others may only read it.
//!
//! This crate never decides anything about a delivery: it writes what the engine decided.

mod accept;
mod all_tenants;
mod archiving;
mod audit;
pub mod backup;
mod body_prefixes;
mod claim;
mod dead_letters;
mod deliveries;
mod documents;
mod email_reports;
mod endpoints;
mod erasure;
mod events;
mod external_ids;
mod fan_out;
mod file_lock;
mod idempotency;
mod import;
mod key_buffer;
mod ledger;
#[cfg(test)]
mod list_cost;
mod migrations;
mod nodes;
mod open;
mod order;
mod orphans;
mod pauses;
mod prune;
mod readers;
mod redeliver;
mod replays;
mod rows;
mod scan;
mod settle;
mod space;
mod statements;
mod statistics;
mod suppressions;
mod tenants;
mod time_buckets;
mod transaction;
mod tx_error;
mod upkeep;
mod usage;
mod wal;
mod walk;
mod where_clause;
mod writer;
mod writer_cache;

use std::{path::Path, sync::Arc};

use gancho_domain::TenantId;
use gancho_store::{Account, Result, Store, StoreError, states};
use rusqlite::Connection;
use tokio::sync::{Notify, watch};

pub use migrations::{SCHEMA_VERSION, schema};
pub use open::Options;

use crate::{
    fan_out::MAX_PLACED,
    open::MAX_SCANNED,
    prune::Passes,
    readers::{ReaderGroup, Readers},
    transaction::Tx,
    tx_error::TxError,
    writer::{Share, Step, Writer},
};

/// Threads for look-ups by a key, and for the gateway's own reads.
const LOOKUP_READERS: usize = 3;
const UPKEEP_READERS: usize = 1;
/// Few, so that a simulation has fan-outs in several parts.
const SIMULATED_MAX_PLACED: usize = 2;

pub struct SqliteStore {
    /// Dropped before the writer.
    readers: Readers,
    writer: Writer,
    bell: Arc<Notify>,
    passes: Passes,
    max_scanned: usize,
    /// Maximum deliveries of a parcel that one transaction places.
    max_placed: usize,
}

impl SqliteStore {
    /// Opens the file, creates it if it does not exist, and migrates it to this version.
    pub fn open(options: &Options) -> Result<Arc<Self>> {
        let opened = open::open(options)?;
        let bell = Arc::new(Notify::new());
        let counts = [LOOKUP_READERS, options.readers, UPKEEP_READERS];
        let readers = Readers::start(counts, || open::reader(&options.path))?;
        let writer = Writer::start(opened, options, bell.clone())?;
        let (passes, max_scanned) = (Passes::default(), options.max_scanned);
        Ok(Arc::new(Self { readers, writer, bell, passes, max_scanned, max_placed: MAX_PLACED }))
    }

    /// Opens a file to read it: one that another process has open, or a copy. Nothing is written to it, and
    /// every write is refused.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Arc<Self>> {
        Self::reading(|| open::to_read(path.as_ref()))
    }

    /// As [`Self::open_to_read`], for a database of any version. Some reads fail then.
    pub fn open_any_version_to_read(path: impl AsRef<Path>) -> Result<Arc<Self>> {
        Self::reading(|| open::to_read_any_version(path.as_ref()))
    }

    fn reading(open: impl Fn() -> Result<Connection>) -> Result<Arc<Self>> {
        let readers = Readers::start([1, 1, 1], open)?;
        let (writer, bell) = (Writer::none(), Arc::default());
        let (passes, max_scanned) = (Passes::default(), MAX_SCANNED);
        Ok(Arc::new(Self { readers, writer, bell, passes, max_scanned, max_placed: MAX_PLACED }))
    }

    /// Opens a store in memory that works on the caller's thread: for simulations, where the same calls must
    /// give the same results in the same order.
    pub fn inline() -> Result<Arc<Self>> {
        let db = open::in_memory()?;
        let bell = Arc::new(Notify::new());
        let writer = Writer::inline(db, bell.clone())?;
        let (readers, passes, max_scanned) = (Readers::none(), Passes::default(), MAX_SCANNED);
        Ok(Arc::new(Self {
            readers,
            writer,
            bell,
            passes,

            max_scanned,
            max_placed: SIMULATED_MAX_PLACED,
        }))
    }

    /// Returns the error, once the store has stopped after an I/O error and must be reopened.
    pub fn broken(&self) -> watch::Receiver<Option<StoreError>> {
        self.writer.broken()
    }

    /// Runs a step in a transaction that it shares with other waiting calls, in the order of the calls: for what
    /// the gateway itself writes, and what the engine has given a share already. `step` may run twice: if another
    /// step fails, the transaction is rolled back and each step runs alone.
    async fn write<T: Send + 'static>(
        &self,
        step: impl FnMut(&Tx<'_>) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(Step::Upkeep, None, step).await
    }

    /// As [`Self::write`], but refused while the disk is nearly full: the rest of the space is reserved for
    /// settling.
    async fn write_more<T: Send + 'static>(
        &self,
        step: impl FnMut(&Tx<'_>) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(Step::Growth, None, step).await
    }

    /// As [`Self::write`], for what a caller causes: accounts take turns, within a budget of rows in each
    /// transaction. `rows`: about how many rows the step writes.
    async fn write_for<T: Send + 'static>(
        &self,
        account: impl Into<Account>,
        rows: usize,
        step: impl FnMut(&Tx<'_>) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        let share = Share { account: account.into(), rows };
        self.writer.run(Step::Upkeep, Some(share), step).await
    }

    /// As [`Self::write_for`], but refused while the disk is nearly full.
    async fn write_more_for<T: Send + 'static>(
        &self,
        account: impl Into<Account>,
        rows: usize,
        step: impl FnMut(&Tx<'_>) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        let share = Share { account: account.into(), rows };
        self.writer.run(Step::Growth, Some(share), step).await
    }

    /// Runs a read that publishing or the gateway itself waits for: fast, by a key.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.read_by(&self.readers.lookups, Account::Gateway, read).await
    }

    /// As [`Self::read`], for an account that waits for its own turn.
    async fn read_for<T: Send + 'static>(
        &self,
        account: impl Into<Account>,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.read_by(&self.readers.lookups, account.into(), read).await
    }

    /// Reads a page of a list, of a tenant or the operator.
    async fn read_list<T: Send + 'static>(
        &self,
        tenant: Option<TenantId>,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.read_by(&self.readers.lists, tenant.into(), read).await
    }

    /// Runs the gateway's own counts and searches, which may take long.
    async fn read_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        self.read_by(&self.readers.upkeep, Account::Gateway, read).await
    }

    async fn read_by<T: Send + 'static>(
        &self,
        group: &ReaderGroup,
        account: Account,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        match self.writer.shared() {
            Some(db) => read(&db.lock().0).map_err(StoreError::from),
            None => group.run(account, read).await,
        }
    }
}

/// No intake: other programs cannot write to the file.
impl gancho_store::Intake for SqliteStore {}

impl Store for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn bell(&self) -> Arc<Notify> {
        self.bell.clone()
    }
}
