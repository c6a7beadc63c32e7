//! The suite that every store must pass, through a pooler in transaction mode.

use std::sync::Arc;

use gancho_store::{Store, conformance::Fixture, conformance_suite};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    pgbouncer,
    postgres::{Database, fresh_database},
};

use super::sessions::with_direct;

struct Pooled {
    // Before the database, so that it is closed before the database is removed.
    store: Arc<PostgresStore>,
    database: Database,
}

async fn open(database: &Database) -> Arc<PostgresStore> {
    let pgbouncer = pgbouncer::shared(database.server()).unwrap();
    let url = with_direct(&pgbouncer.url(database.name()), &database.url());
    let options = Options { max_scanned: Pooled::MAX_SCANNED, ..Options::default() };
    PostgresStore::connect(&url, options).await.unwrap()
}

impl Fixture for Pooled {
    const MAX_SCANNED: usize = 1_000;

    async fn open() -> Self {
        let database = fresh_database().await.unwrap();
        Self { store: open(&database).await, database }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn reopen(self) -> Self {
        let Self { store, database } = self;
        drop(store);
        Self { store: open(&database).await, database }
    }
}

conformance_suite!(Pooled);
