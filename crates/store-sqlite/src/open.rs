//! Opens a file: one process, a sound library, a known schema, synced commits.

use std::{
    fmt::Write,
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use gancho_store::{Result, StoreError};
use rusqlite::{Connection, OpenFlags, config::DbConfig, wal::CheckpointMode};

use crate::{
    file_lock::{self, FileLock},
    migrations,
    tx_error::store_error,
    wal::{Checkpoint, checkpoint},
};

#[derive(Debug, Clone)]
pub struct Options {
    pub path: PathBuf,
    /// Threads that read tenants' lists.
    pub readers: usize,
    /// Maximum rows that one page of a list scans before it returns where to continue.
    pub max_scanned: usize,
    /// The size above which publishing is refused. Default: the size of the disk.
    pub max_bytes: Option<u64>,
    pub dead_letter_ttl: Duration,
}

/// How long to wait for another program's lock. There should be none.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
/// Scanning as many rows takes some ten milliseconds.
pub(crate) const MAX_SCANNED: usize = 100_000;
pub(crate) const DEAD_LETTER_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl Options {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            readers: 2,
            max_scanned: MAX_SCANNED,
            max_bytes: None,
            dead_letter_ttl: DEAD_LETTER_TTL,
        }
    }

    /// Returns the directory of the file; the current one for a name without a path.
    pub(crate) fn folder(&self) -> PathBuf {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    }
}

/// The writer's connection, with the lock that keeps other processes out.
pub(crate) struct WriterConnection {
    pub db: Connection,
    /// Released after every connection is closed.
    _lock: FileLock,
}

impl WriterConnection {
    /// Closes the connection and leaves no log beside the file.
    pub fn close(&self) {
        let _ = self.db.execute_batch("PRAGMA optimize");
        if matches!(checkpoint(&self.db, CheckpointMode::TRUNCATE), Ok(Checkpoint::Done)) {
            // Nothing is left to copy: this only removes the log.
            let _ = copy_when_closed(&self.db, true);
        }
    }
}

/// Earlier versions can lose commits when a checkpoint meets a writer.
const OLDEST_SOUND: i32 = 3_051_003;

pub(crate) fn open(options: &Options) -> Result<WriterConnection> {
    sound_library()?;
    let folder = options.folder();
    if !folder.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| {
            refused(format!("cannot create the folder {}: {error}", folder.display()))
        })?;
    }
    let lock = file_lock::hold(&options.path)?;
    let db = Connection::open(&options.path).map_err(|error| unreadable(&options.path, &error))?;
    prepare(&db, true).map_err(|error| unreadable(&options.path, &error))?;
    synced(&db)?;
    check(&db, &options.path)?;
    migrations::run(&db)?;
    mark_nodes_dead(&db).map_err(|error| store_error(&error))?;
    // SQLite ignores a failed sync of the directory; a new file could vanish in a power failure.
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(|error| {
        refused(format!("cannot sync the folder {}: {error}", folder.display()))
    })?;
    Ok(WriterConnection { db, _lock: lock })
}

pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let db = beside_the_writer(path)?;
    db.pragma_update(None, "query_only", true).map_err(|error| unreadable(path, &error))?;
    Ok(db)
}

/// Opens the connection of the thread that copies the log into the file.
pub(crate) fn beside_the_writer(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags);
    db.and_then(|db| prepare(&db, false).map(|()| db)).map_err(|error| unreadable(path, &error))
}

/// Opens a file to read it: one that another process has open, or a copy. Nothing is written to it.
pub(crate) fn to_read(path: &Path) -> Result<Connection> {
    let db = to_read_any_version(path)?;
    migrations::fits(&db)?;
    Ok(db)
}

/// As [`to_read`], also for a schema that this version does not know.
pub(crate) fn to_read_any_version(path: &Path) -> Result<Connection> {
    sound_library()?;
    if !path.is_file() {
        return Err(refused(format!("no database found at {}", path.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let plain = Connection::open_with_flags(path, flags).and_then(readable);
    let db = match plain {
        // In a read-only directory the file is opened as immutable: no other process can write there. This
        // would miss commits in a write-ahead log, so it is refused if there is one.
        Err(_) if !beside(path, "-wal").exists() => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), flags).and_then(readable)
        }
        other => other,
    };
    db.map_err(|error| unreadable(path, &error))
}

fn readable(db: Connection) -> rusqlite::Result<Connection> {
    keep_plans(&db)?;
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "cache_size", -65_536)?;
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}

pub(crate) fn in_memory() -> Result<Connection> {
    let db = Connection::open_in_memory().map_err(|error| store_error(&error))?;
    keep_plans(&db).map_err(|error| store_error(&error))?;
    migrations::run(&db)?;
    Ok(db)
}

fn sound_library() -> Result<()> {
    let found = rusqlite::version_number();
    if found < OLDEST_SOUND {
        return Err(refused(format!(
            "this program was built with SQLite {}, which can lose commits: build it with 3.51.3 or later",
            rusqlite::version()
        )));
    }
    Ok(())
}

fn prepare(db: &Connection, writer: bool) -> rusqlite::Result<()> {
    keep_plans(db)?;
    copy_when_closed(db, false)?;
    db.busy_timeout(BUSY)?;
    // Bodies of a kilobyte fit better into pages of eight than of four: a fifth less work per delivery.
    db.pragma_update(None, "page_size", 8_192)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Bytes of rows that are moved or removed are overwritten within their pages, from the first write on.
    // Otherwise copies of content that is erased later would stay where a page was split. Whole pages that
    // become free are overwritten only by `unreadably`, because that makes pruning large bodies several times
    // slower.
    db.pragma_update(None, "secure_delete", "fast")?;
    // In KiB when negative.
    db.pragma_update(None, "cache_size", if writer { -32_768 } else { -8_192 })?;
    // See wal.rs.
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)
}

/// Sets whether the last connection that is closed copies the log into the file: see wal.rs.
fn copy_when_closed(db: &Connection, does: bool) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !does).map(drop)
}

/// Keeps the plan of a prepared statement, whatever values are bound to it. Otherwise SQLite uses the values
/// of each call to plan it again, which took half of the time of a claim.
fn keep_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_prepared_statement_cache_capacity(256);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Checks that commits are synced. Setting it is not enough: the file system may not support it.
fn synced(db: &Connection) -> Result<()> {
    let read = |pragma: &str| -> Result<String> {
        db.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| format!("{value:?}"))
            .map_err(|error| store_error(&error))
    };
    let (journal, sync) = (read("journal_mode")?, read("synchronous")?);
    if journal != "Text(\"wal\")" || sync != "Integer(2)" {
        return Err(refused(format!(
            "this file system does not support durable commits (journal_mode {journal}, synchronous {sync}): use a local file system"
        )));
    }
    Ok(())
}

/// Checks the file. This does not prove durability, but reports a damaged file at once rather than at the
/// first bad page. Reading a large file completely would make a restart slow, so damage in it shows when it
/// is read.
fn check(db: &Connection, path: &Path) -> Result<()> {
    const QUICKLY_READ: u64 = 64 << 20;
    if std::fs::metadata(path).is_ok_and(|file| file.len() > QUICKLY_READ) {
        return Ok(());
    }
    let verdict: String = db
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| unreadable(path, &error))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(damaged(path, &verdict))
}

/// Marks the nodes of earlier processes as dead, because no other process can have this file open. The first
/// rescue takes over their leases, and counts for each delivery how many nodes died while they held it.
fn mark_nodes_dead(db: &Connection) -> rusqlite::Result<()> {
    db.execute("UPDATE nodes SET is_dead = 1", []).map(drop)
}

fn unreadable(path: &Path, error: &rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => damaged(path, &error.to_string()),
        _ => refused(format!("cannot open {}: {error}", path.display())),
    }
}

fn damaged(path: &Path, what: &str) -> StoreError {
    refused(format!(
        "{} is damaged or is not a Gancho database ({what}). Nothing was changed. Put a backup in its place, or move it away to start with an empty one",
        path.display()
    ))
}

pub(crate) fn refused(text: String) -> StoreError {
    StoreError::Refused(text)
}
