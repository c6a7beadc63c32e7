//! Monitors the space on the disk. Growth stops while there is still room to settle what was accepted.

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

/// Space that is reserved for settling; on a small disk, a tenth of it.
const RESERVE: u64 = 64 << 20;
/// Maximum size of the log. Readers can prevent its reuse; a larger log is emptied as soon as they let go.
const MAX_WAL: u64 = 256 << 20;
/// Minimum time between two attempts to empty the log while a reader holds it: each attempt blocks every
/// writer, and the next would find the same reader.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// How often it is tried when the disk is full and nothing else can be done.
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

    /// Returns why nothing may be added, or `None`. Called at every commit.
    pub fn refusal(&self, db: &Connection) -> Option<String> {
        self.look_at_limit(db).or_else(|| self.look_at_disk(db))
    }

    fn look_at_limit(&self, db: &Connection) -> Option<String> {
        let (limit, used) = (self.limit.get()?, used(db).ok()?);
        (used >= limit).then(|| {
            format!("the database holds {used} bytes and its limit is {limit}: raise the limit or keep less")
        })
    }

    /// Checks the space on the disk. The log can be emptied only if its content fits into the file, so it is
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

    /// Copies the log into the file and truncates it.
    pub fn empty_log(&self, db: &Connection) {
        self.try_to_empty(db, TRIES_WHEN_FULL);
    }

    fn try_to_empty(&self, db: &Connection, tries: usize) {
        // Callers that wait for the writer must not wait for a reader too.
        let _ = db.busy_timeout(Duration::from_millis(20));
        self.held_at.set(None);
        for _ in 0..tries {
            match checkpoint(db, CheckpointMode::TRUNCATE) {
                Ok(Checkpoint::Busy) => {
                    self.held_at.set(Some(Instant::now()));
                    // The helper thread holds the log only for a moment.
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

    /// Returns an error if emptying the log failed in a way after which the store must stop.
    pub fn failure(&self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Returns the free and the reserved bytes.
    fn disk(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.folder).ok()?;
        let reserve = RESERVE.min(disk.f_blocks * disk.f_frsize / 10);
        Some((disk.f_bavail * disk.f_frsize, reserve))
    }
}

/// Returns the bytes in use, without free pages.
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

    /// faults.md 19: a reader that holds the log delays one commit per second, not every commit.
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
        // A thousand attempts would take half a minute, and each would reset the time.
        let spent = gate.held_at.get().unwrap().duration_since(first);
        assert!(spent.is_zero() || spent >= BETWEEN_TRIES, "{spent:?}");
        assert!(!gate.may_try(first + BETWEEN_TRIES / 2));
        assert!(gate.may_try(first + spent + BETWEEN_TRIES));

        // When the reader lets go and the time has passed, the log is emptied.
        reader.execute_batch("COMMIT").unwrap();
        gate.held_at.set(None);
        assert_eq!(gate.refusal(&opened.db), None);
        assert_eq!(log(), 0);
    }

    /// On a disk that is nearly full the log is emptied at every commit, as long as no reader holds it.
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
