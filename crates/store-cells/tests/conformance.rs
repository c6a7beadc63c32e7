//! The suite that every store must pass, on three cells that are schemas of a database of their own for each case.

use std::sync::Arc;

use gancho_domain::TenantId;
use gancho_store::{Store, conformance::Fixture, conformance_suite};
use gancho_store_cells::CellStore;
use gancho_store_postgres::Options;
use gancho_testkit::postgres::{Database, fresh_database};

use crate::stage::{in_schema, open};

struct Cells {
    // Before the database, so that it is closed before the database goes.
    store: Arc<CellStore>,
    database: Database,
}

fn options() -> Options {
    Options { pool: 4, lists: 2, max_scanned: Cells::MAX_SCANNED, ..Options::default() }
}

impl Fixture for Cells {
    const MAX_SCANNED: usize = 1_000;

    async fn open() -> Self {
        let database = fresh_database().await.unwrap();
        let store = open(&in_schema(&database.url(), "home"), options()).await.unwrap();
        for cell in ["a", "b"] {
            store.add_cell(cell, &in_schema(&database.url(), cell)).await.unwrap();
        }
        Self { store, database }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn share_a_round(&self, one: TenantId, other: TenantId) -> bool {
        self.store.cell_name(one) == self.store.cell_name(other)
    }

    async fn reopen(self) -> Self {
        let Self { store, database } = self;
        drop(store);
        let store = open(&in_schema(&database.url(), "home"), options()).await.unwrap();
        Self { store, database }
    }
}

conformance_suite!(Cells);
