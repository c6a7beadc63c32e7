//! Opens the store: `sqlite:PATH` or `postgres://…`.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use gancho_store::{SchemaVersion, Store};
use gancho_store_postgres::PostgresStore;
use gancho_store_sqlite::SqliteStore;

/// The operator's settings of the store.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Publishing is refused above this size (SQLite).
    pub max_bytes: Option<u64>,
    pub dead_letter_ttl: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let usual = gancho_store_postgres::Options::default();
        Self { max_bytes: None, dead_letter_ttl: usual.dead_letter_ttl }
    }
}

pub async fn open(url: &str, options: Options) -> anyhow::Result<Arc<dyn Store>> {
    Ok(open_with_reader(url, options).await?.0)
}

/// The store, and the same store for lists and statistics, which may come from a replica.
pub async fn open_with_reader(
    url: &str,
    options: Options,
) -> anyhow::Result<(Arc<dyn Store>, Arc<dyn Store>)> {
    let Options { max_bytes, dead_letter_ttl } = options;
    if let Some(path) = url.strip_prefix("sqlite:") {
        let at = gancho_store_sqlite::Options::at(path);
        let options = gancho_store_sqlite::Options { max_bytes, dead_letter_ttl, ..at };
        let store = SqliteStore::open(&options).context("cannot open the database")?;
        return Ok((store.clone(), store));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let usual = gancho_store_postgres::Options::default();
        let options = gancho_store_postgres::Options { dead_letter_ttl, ..usual };
        // On the heap: commands would carry the whole of it.
        let store = Box::pin(PostgresStore::connect(url, options)).await;
        let store = store.context("cannot open the database")?;
        let reader = store.reader().unwrap_or_else(|| store.clone());
        return Ok((store, reader));
    }
    bail!("not a database URL. hint: write sqlite:PATH or postgres://USER@HOST/NAME")
}

/// Opens the store for reading, also next to a running gateway, or a copy.
pub async fn open_to_read(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    match url.strip_prefix("sqlite:") {
        Some(path) => Ok(SqliteStore::open_to_read(path).context("cannot open the database")?),
        // PostgreSQL is shared by several nodes: this is one more.
        None => open(url, Options::default()).await,
    }
}

/// The schema of the database, without changing it.
pub async fn schema(url: &str) -> anyhow::Result<SchemaVersion> {
    let found = match url.strip_prefix("sqlite:") {
        Some(path) => gancho_store_sqlite::schema(path),
        None => gancho_store_postgres::schema_version(url).await,
    };
    found.context("cannot open the database")
}

/// The newest schemas of SQLite and PostgreSQL that this version knows.
pub fn schema_versions() -> [u32; 2] {
    [gancho_store_sqlite::SCHEMA_VERSION, gancho_store_postgres::SCHEMA_VERSION]
}
