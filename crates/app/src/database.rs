//! Which store: `sqlite:PATH` or `postgres://…`.

use std::sync::Arc;

use anyhow::bail;
use gancho_store::Store;
use gancho_store_postgres::PostgresStore;
use gancho_store_sqlite::{Options, SqliteStore};

pub async fn open(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let store = SqliteStore::open(&Options::at(path))?;
        return Ok(store);
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(PostgresStore::connect(url, gancho_store_postgres::Options::default()).await?);
    }
    bail!("`{url}` is not a database: write sqlite:PATH or postgres://USER@HOST/NAME")
}
