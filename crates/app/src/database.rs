//! Opens the store: `sqlite:PATH` or `postgres://…`.

use std::{io::Write, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use gancho_domain::Time;
use gancho_store::{DeadFilter, SchemaVersion, Store};
use gancho_store_cells::{CellSecrets, CellSetup, CellStore, of_url};
use gancho_store_postgres::{CellRow, PostgresStore};
use gancho_store_sqlite::SqliteStore;

use crate::{
    cells::RingSecrets,
    key_ring::{LoadedKeyRing, RingSource},
};

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

/// An open database, before its cells are opened.
enum Database {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>, gancho_store_postgres::Options),
}

impl Database {
    async fn open(url: &str, options: Options) -> anyhow::Result<Self> {
        let Options { max_bytes, dead_letter_ttl } = options;
        if let Some(path) = url.strip_prefix("sqlite:") {
            let at = gancho_store_sqlite::Options::at(path);
            let options = gancho_store_sqlite::Options { max_bytes, dead_letter_ttl, ..at };
            let store = SqliteStore::open(&options).context("cannot open the database")?;
            return Ok(Self::Sqlite(store));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let usual = gancho_store_postgres::Options::default();
            let options = gancho_store_postgres::Options { dead_letter_ttl, ..usual };
            // On the heap, because otherwise the futures of all commands would contain it.
            let store = Box::pin(PostgresStore::connect(url, options.clone())).await;
            return Ok(Self::Postgres(store.context("cannot open the database")?, options));
        }
        bail!("not a database URL. hint: write sqlite:PATH or postgres://USER@HOST/NAME")
    }

    fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store, _) => store.clone(),
        }
    }
}

/// The store with all of its cells, and the key ring that decrypts their URLs.
pub struct OpenStore {
    pub store: Arc<dyn Store>,
    /// The store for lists and statistics, which may come from a replica.
    pub reader: Arc<dyn Store>,
    pub ring: LoadedKeyRing,
    /// `None` if the store cannot have any.
    pub cells: Option<Arc<CellStore>>,
}

/// Fails if the key ring of the database is missing. Opens a file for reading, so that nothing in it is
/// changed.
pub async fn refuse_without_ring(url: &str, ring: &RingSource) -> anyhow::Result<()> {
    match url.strip_prefix("sqlite:").map(SqliteStore::open_any_version_to_read) {
        Some(Ok(store)) => ring.check(&*store).await,
        Some(Err(_)) | None => Ok(()),
    }
}

/// Opens the store with its cells.
pub async fn open_all(url: &str, options: Options, ring: RingSource) -> anyhow::Result<OpenStore> {
    refuse_without_ring(url, &ring).await?;
    let database = Database::open(url, options).await?;
    let ring = ring.open(&*database.store()).await?;
    Ok(match database {
        Database::Sqlite(store) => OpenStore { reader: store.clone(), store, ring, cells: None },
        Database::Postgres(home, options) => {
            let secrets = Arc::new(RingSecrets(ring.keys.clone()));
            let replica = home.reader();
            let cells = CellStore::open(home, CellSetup::new(options, secrets)).await;
            let cells = cells.context("cannot open the database")?;
            let reader: Arc<dyn Store> = match replica {
                Some(_) if !cells.is_alone() => {
                    tracing::warn!("read replica is not used with several cells");
                    cells.clone()
                }
                Some(replica) => replica,
                None => cells.clone(),
            };
            OpenStore { store: cells.clone(), reader, ring, cells: Some(cells) }
        }
    })
}

/// Opens the store; with several cells only the home cell.
pub async fn open(url: &str, options: Options) -> anyhow::Result<Arc<dyn Store>> {
    Ok(Database::open(url, options).await?.store())
}

/// Opens the store for reading, even next to a running gateway, or a copy.
pub async fn open_to_read(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    match url.strip_prefix("sqlite:") {
        Some(path) => Ok(SqliteStore::open_to_read(path).context("cannot open the database")?),
        // PostgreSQL is shared by several nodes: this is one more.
        None => open(url, Options::default()).await,
    }
}

/// Returns the schema of the database, without changing it.
pub async fn schema(url: &str) -> anyhow::Result<SchemaVersion> {
    let found = match url.strip_prefix("sqlite:") {
        Some(path) => gancho_store_sqlite::schema(path),
        None => gancho_store_postgres::schema_version(url).await,
    };
    found.context("cannot open the database")
}

/// Checks whether a gateway could write to a database that has tables. Changes nothing. Returns the time of
/// the server, or the newest time in the file.
pub async fn check_writable(url: &str) -> anyhow::Result<Option<Time>> {
    let Some(path) = url.strip_prefix("sqlite:") else {
        return Ok(Some(gancho_store_postgres::check_writable(url).await?));
    };
    let writing = || format!("cannot write to {path}");
    std::fs::OpenOptions::new().append(true).open(path).with_context(writing)?;
    let folder = Path::new(path).parent().unwrap_or(Path::new("."));
    let mut probe = tempfile::tempfile_in(folder).with_context(writing)?;
    probe.write_all(&vec![0; 1 << 20]).and_then(|()| probe.sync_all()).with_context(writing)?;
    let store = open_to_read(url).await?;
    store.dead_stats(DeadFilter::default()).await.context("cannot read the database")?;
    store.last_written().await.context("cannot read the database")
}

/// Checks whether a gateway could create its tables in a database that has none.
pub async fn check_may_create(url: &str) -> anyhow::Result<()> {
    match url.strip_prefix("sqlite:") {
        Some(_) => Ok(()),
        None => Ok(gancho_store_postgres::check_may_create(url).await?),
    }
}

/// A cell of a database besides the home cell: its name, and its URL or why it cannot be read.
pub type OtherCell = (String, anyhow::Result<String>);

/// Returns the cells of a database that is up to date, besides the home cell.
pub async fn other_cells(
    url: &str,
    ring: impl FnOnce() -> anyhow::Result<RingSource>,
) -> anyhow::Result<Vec<OtherCell>> {
    let Database::Postgres(home, _) = Database::open(url, Options::default()).await? else {
        return Ok(Vec::new());
    };
    let rows = home.cells().await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let secrets = RingSecrets(ring()?.open(&*home).await?.keys);
    let of_row = |row: CellRow| {
        let url = secrets.open(&of_url(&row.name), &row.url).map_err(anyhow::Error::msg);
        (row.name, url)
    };
    Ok(rows.into_iter().map(of_row).collect())
}

/// Returns the newest schemas of SQLite and PostgreSQL that this version knows.
pub fn schema_versions() -> [u32; 2] {
    [gancho_store_sqlite::SCHEMA_VERSION, gancho_store_postgres::SCHEMA_VERSION]
}
