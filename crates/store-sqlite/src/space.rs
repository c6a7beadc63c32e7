//! How full the disk is. Growth stops while there is still room to settle what was accepted.

use std::{cell::RefCell, path::PathBuf, thread, time::Duration};

use gancho_store::{Result, StoreError};
use rusqlite::{Connection, wal::CheckpointMode};

use crate::{
    log::{Copied, copy},
    open::{BUSY, Options},
};

/// Kept for settling; on a small disk, a tenth of it.
const RESERVE: u64 = 64 << 20;
/// Readers can keep the log from being reused; beyond this it is emptied as soon as they let go.
const LONGEST_LOG: u64 = 256 << 20;
const TRIES: usize = 4;

pub(crate) struct Gate {
    folder: PathBuf,
    log: PathBuf,
    limit: Option<u64>,
    failure: RefCell<Option<StoreError>>,
}

impl Gate {
    pub fn new(options: &Options) -> Self {
        let mut log = options.path.clone().into_os_string();
        log.push("-wal");
        Self {
            folder: options.folder(),
            log: log.into(),
            limit: options.max_bytes,
            failure: RefCell::default(),
        }
    }

    /// Why nothing may be added, if so. Asked at every commit.
    pub fn refusal(&self, db: &Connection) -> Option<String> {
        self.look_at_limit(db).or_else(|| self.look_at_disk(db))
    }

    fn look_at_limit(&self, db: &Connection) -> Option<String> {
        let (limit, used) = (self.limit?, used(db).ok()?);
        (used >= limit).then(|| {
            format!("the database holds {used} bytes and its limit is {limit}: raise the limit or keep less")
        })
    }

    /// What is in the log has to fit into the file too, before the log can be emptied: so it is
    /// emptied while there is room for that.
    fn look_at_disk(&self, db: &Connection) -> Option<String> {
        let (mut free, reserve) = self.disk()?;
        let log = std::fs::metadata(&self.log).map_or(0, |file| file.len());
        if free < reserve + log || log > LONGEST_LOG {
            self.empty_log(db);
            free = self.disk()?.0;
        }
        (free < reserve).then(|| {
            format!(
                "{free} bytes are free on the disk and {reserve} are kept for settling: free space"
            )
        })
    }

    /// Brings the log into the file and cuts it.
    pub fn empty_log(&self, db: &Connection) {
        // Whoever waits for the writer does not wait for a reader too,
        let _ = db.busy_timeout(Duration::from_millis(20));
        for _ in 0..TRIES {
            match copy(db, CheckpointMode::TRUNCATE) {
                // and only a moment for the thread that copies beside it.
                Ok(Copied::Busy) => thread::sleep(Duration::from_millis(10)),
                Ok(Copied::Yes | Copied::No) => break,
                Err(error) => {
                    self.failure.replace(Some(error));
                    break;
                }
            }
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
