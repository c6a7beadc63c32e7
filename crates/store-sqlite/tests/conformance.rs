//! The suite every store must pass, against SQLite in a file.

use std::sync::Arc;

use gancho_store::{Store, conformance::Fixture};
use gancho_store_sqlite::{Options, SqliteStore};
use tempfile::TempDir;

struct OnDisk {
    store: Arc<SqliteStore>,
    folder: TempDir,
}

impl Fixture for OnDisk {
    const MAX_SCANNED: usize = 1_000;

    async fn open() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn reopen(self) -> Self {
        drop(self.store);
        Self::at(self.folder)
    }
}

impl OnDisk {
    fn at(folder: TempDir) -> Self {
        let at = Options::at(folder.path().join("gancho.db"));
        let options = Options { max_scanned: Self::MAX_SCANNED, ..at };
        // The writer of a store that was just dropped releases the file when its thread ends.
        let started = std::time::Instant::now();
        loop {
            match SqliteStore::open(&options) {
                Ok(store) => return Self { store, folder },
                Err(error) if started.elapsed().as_secs() < 10 => {
                    assert!(error.to_string().contains("in use"), "{error}");
                    std::thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

gancho_store::conformance_suite!(OnDisk);
