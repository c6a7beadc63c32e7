//! The suite that every store must pass, with a separate database for each case.

use std::sync::Arc;

use gancho_store::{Store, conformance::Fixture, conformance_suite};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::postgres::{Database, fresh_database};

struct Postgres {
    // Before the database, so that it is closed before the database is removed.
    store: Arc<PostgresStore>,
    database: Database,
}

fn options() -> Options {
    Options { max_scanned: Postgres::MAX_SCANNED, ..Options::default() }
}

impl Fixture for Postgres {
    const MAX_SCANNED: usize = 1_000;

    async fn open() -> Self {
        let database = fresh_database().await.unwrap();
        let store = PostgresStore::connect(&database.url(), options()).await.unwrap();
        Self { store, database }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn reopen(self) -> Self {
        let Self { store, database } = self;
        drop(store);
        let store = PostgresStore::connect(&database.url(), options()).await.unwrap();
        Self { store, database }
    }
}

conformance_suite!(Postgres);
