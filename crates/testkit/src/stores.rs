//! A real store of either kind, which is deleted when the test ends.

#![expect(clippy::expect_used, reason = "a test without a store cannot go on")]

use std::{path::Path, sync::Arc};

use gancho_store::Store;
use gancho_store_postgres::PostgresStore;
use gancho_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::postgres::{Database, fresh_database};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    Postgres,
}

/// The location of a test's store. It is deleted when dropped, so hold it until after the store.
pub struct StorePlace {
    /// The directory of SQLite's file; tests may put other files there.
    folder: TempDir,
    database: Option<Database>,
    max_scanned: Option<usize>,
}

impl StorePlace {
    pub async fn new(kind: StoreKind) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let database = match kind {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => Some(fresh_database().await.expect("a database")),
        };
        Self { folder, database, max_scanned: None }
    }

    /// Sets the maximum rows that a page of a list scans.
    pub fn with_max_looks(self, max_scanned: Option<usize>) -> Self {
        Self { max_scanned, ..self }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub const fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// Opens the store. SQLite can be open once at a time; with PostgreSQL each node opens its own.
    pub async fn open(&self) -> Arc<dyn Store> {
        let Some(database) = &self.database else {
            let usual = gancho_store_sqlite::Options::at(self.folder().join("test.db"));
            let max_scanned = self.max_scanned.unwrap_or(usual.max_scanned);
            let options = gancho_store_sqlite::Options { max_scanned, ..usual };
            return SqliteStore::open(&options).expect("the database opens");
        };
        let usual = gancho_store_postgres::Options::default();
        let max_scanned = self.max_scanned.unwrap_or(usual.max_scanned);
        let options = gancho_store_postgres::Options { max_scanned, ..usual };
        PostgresStore::connect(&database.url(), options).await.expect("the database answers")
    }
}
