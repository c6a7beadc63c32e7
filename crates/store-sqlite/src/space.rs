//! How full the disk is. Growth stops while there is still room to settle what was accepted.

use std::{path::PathBuf, time::Duration};

use rusqlite::Connection;

use crate::open::{BUSY, Options};

/// Kept for settling; on a small disk, a tenth of it.
const RESERVE: u64 = 64 << 20;
/// Readers can keep the log from being reused; beyond this it is emptied as soon as they let go.
const LONGEST_LOG: u64 = 256 << 20;

pub(crate) struct Gate {
    folder: PathBuf,
    log: PathBuf,
    limit: Option<u64>,
}

impl Gate {
    pub fn new(options: &Options) -> Self {
        let mut log = options.path.clone().into_os_string();
        log.push("-wal");
        Self { folder: options.folder(), log: log.into(), limit: options.max_bytes }
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
            empty_log(db);
            free = self.disk()?.0;
        }
        (free < reserve).then(|| {
            format!(
                "{free} bytes are free on the disk and {reserve} are kept for settling: free space"
            )
        })
    }

    /// Bytes that are free, and bytes that are kept.
    fn disk(&self) -> Option<(u64, u64)> {
        let disk = rustix::fs::statvfs(&self.folder).ok()?;
        let reserve = RESERVE.min(disk.f_blocks * disk.f_frsize / 10);
        Some((disk.f_bavail * disk.f_frsize, reserve))
    }
}

/// Brings the log into the file and cuts it. If that fails, the commit will tell.
pub(crate) fn empty_log(db: &Connection) {
    // Whoever waits for the writer does not wait for a reader too.
    let _ = db.busy_timeout(Duration::from_millis(20));
    let _ = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    let _ = db.busy_timeout(BUSY);
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
