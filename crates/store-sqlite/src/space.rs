//! How full the disk is. Growth stops while there is still room to settle what was accepted.

use std::{
    cell::{Cell, RefCell},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use gancho_store::{Result, StoreError};
use rusqlite::{Connection, wal::CheckpointMode};

use crate::{
    open::{BUSY, Options},
    wal::{Checkpoint, checkpoint},
};

/// Kept for settling; on a small disk, a tenth of it.
const RESERVE: u64 = 64 << 20;
/// Readers can keep the log from being reused; beyond this it is emptied as soon as they let go.
const MAX_WAL: u64 = 256 << 20;
/// While a reader holds the log it is tried once in this time: each try keeps every writer waiting, and the
/// next would find the same reader.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// When the disk is full there is nothing better to do.
const TRIES_WHEN_FULL: usize = 4;

/// The size above which nothing may be added. It can be changed while the store is open.
#[derive(Debug, Clone)]
pub(crate) struct SpaceLimit(Arc<AtomicU64>);

impl SpaceLimit {
    const NONE: u64 = u64::MAX;

    pub fn new(limit: Option<u64>) -> Self {
        Self(Arc::new(AtomicU64::new(limit.unwrap_or(Self::NONE))))
    }

    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|limit| *limit != Self::NONE)
    }

    pub fn set(&self, limit: Option<u64>) {
        self.0.store(limit.unwrap_or(Self::NONE), Ordering::Relaxed);
    }
}

pub(crate) struct Gate {
    folder: PathBuf,
    log: PathBuf,
    limit: SpaceLimit,
    max_wal: u64,
    /// When emptying the log last failed because a reader held it.
    held_at: Cell<Option<Instant>>,
    failure: RefCell<Option<StoreError>>,
}

impl Gate {
    pub fn new(options: &Options, limit: SpaceLimit) -> Self {
        let mut log = options.path.clone().into_os_string();
        log.push("-wal");
        Self {
            folder: options.folder(),
            log: log.into(),
            limit,
            max_wal: MAX_WAL,
            held_at: Cell::new(None),
            failure: RefCell::default(),
        }
    }

    /// Why nothing may be added, if so. Asked at every commit.
    pub fn refusal(&self, db: &Connection) -> Option<String> {
        self.look_at_limit(db).or_else(|| self.look_at_disk(db))
    }

    fn look_at_limit(&self, db: &Connection) -> Option<String> {
        let (limit, used) = (self.limit.get()?, used(db).ok()?);
        (used >= limit).then(|| {
            format!("the database holds {used} bytes and its limit is {limit}: raise the limit or keep less")
        })
    }

    /// What is in the log has to fit into the file too, before the log can be emptied: so it is
    /// emptied while there is room for that.
    fn look_at_disk(&self, db: &Connection) -> Option<String> {
        let (mut free, reserve) = self.disk()?;
        let log = std::fs::metadata(&self.log).map_or(0, |file| file.len());
        if (free < reserve + log || log > self.max_wal) && self.may_try(Instant::now()) {
            self.try_to_empty(db, 1);
            free = self.disk()?.0;
        }
        (free < reserve).then(|| {
            format!(
                "{free} bytes are free on the disk and {reserve} are kept for settling: free space"
            )
        })
    }

    fn may_try(&self, now: Instant) -> bool {
        self.held_at.get().is_none_or(|at| now.duration_since(at) >= BETWEEN_TRIES)
    }

    /// Brings the log into the file and cuts it.
    pub fn empty_log(&self, db: &Connection) {
        self.try_to_empty(db, TRIES_WHEN_FULL);
    }

    fn try_to_empty(&self, db: &Connection, tries: usize) {
        // Callers that wait for the writer do not wait for a reader too,
        let _ = db.busy_timeout(Duration::from_millis(20));
        self.held_at.set(None);
        for _ in 0..tries {
            match checkpoint(db, CheckpointMode::TRUNCATE) {
                Ok(Checkpoint::Busy) => {
                    self.held_at.set(Some(Instant::now()));
                    // and only a moment for the thread that copies beside it.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Ok(Checkpoint::Done | Checkpoint::NoSpace) => {}
                Err(error) => {
                    self.failure.replace(Some(error));
                }
            }
            self.held_at.set(None);
            break;
        }
        let _ = db.busy_timeout(BUSY);
    }

    /// Why the store must stop, if emptying the log failed so.
    pub fn failure(&self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Bytes that are free, and bytes that are kept.
    fn disk(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.folder).ok()?;
        let reserve = RESERVE.min(disk.f_blocks * disk.f_frsize / 10);
        Some((disk.f_bavail * disk.f_frsize, reserve))
    }
}

/// Bytes in use, free pages not counted.
pub(crate) fn used(db: &Connection) -> rusqlite::Result<u64> {
    db.prepare_cached(
        "SELECT (c.page_count - f.freelist_count) * s.page_size
         FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s",
    )?
    .query_row([], |row| row.get::<_, i64>(0))
    .map(|bytes| bytes as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::open;

    /// faults.md 19: a reader that holds the log delays commits once in a second, not every one of them.
    #[test]
    fn a_log_that_is_held_is_tried_seldom() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::at(folder.path().join("gancho.db"));
        let opened = open::open(&options).unwrap();
        let gate = Gate { max_wal: 0, ..Gate::new(&options, SpaceLimit::new(None)) };
        let reader = open::reader(&options.path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM tenants").unwrap();
        opened.db.execute_batch("CREATE TABLE more (x); INSERT INTO more VALUES (1)").unwrap();
        let log = || std::fs::metadata(&gate.log).unwrap().len();
        assert!(log() > 0);

        assert_eq!(gate.refusal(&opened.db), None);
        let first = gate.held_at.get().unwrap();
        for _ in 0..1_000 {
            assert_eq!(gate.refusal(&opened.db), None);
        }
        // A thousand tries would take half a minute, and each would reset the time.
        let spent = gate.held_at.get().unwrap().duration_since(first);
        assert!(spent.is_zero() || spent >= BETWEEN_TRIES, "{spent:?}");
        assert!(!gate.may_try(first + BETWEEN_TRIES / 2));
        assert!(gate.may_try(first + spent + BETWEEN_TRIES));

        // When the reader lets go and the time has come, the log is emptied.
        reader.execute_batch("COMMIT").unwrap();
        gate.held_at.set(None);
        assert_eq!(gate.refusal(&opened.db), None);
        assert_eq!(log(), 0);
    }

    /// On a disk that is nearly full the log is emptied at every commit, as long as nobody holds it.
    #[test]
    fn a_log_that_nobody_holds_is_emptied_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::at(folder.path().join("gancho.db"));
        let opened = open::open(&options).unwrap();
        let gate = Gate { max_wal: 0, ..Gate::new(&options, SpaceLimit::new(None)) };
        opened.db.execute_batch("CREATE TABLE more (x)").unwrap();
        for _ in 0..3 {
            opened.db.execute_batch("INSERT INTO more VALUES (1)").unwrap();
            assert!(std::fs::metadata(&gate.log).unwrap().len() > 0);
            assert_eq!(gate.refusal(&opened.db), None);
            assert_eq!(std::fs::metadata(&gate.log).unwrap().len(), 0);
        }
    }
}
