//! How full the disk is. Growth stops while there is still room to settle what was accepted.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::open::Options;

/// Kept for settling; on a small disk, a tenth of it.
const RESERVE: u64 = 64 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct Gate {
    folder: Option<PathBuf>,
    limit: Option<u64>,
    looked_at: Option<Instant>,
    refusal: Option<String>,
}

impl Gate {
    pub fn new(options: &Options) -> Self {
        Self {
            folder: options.path.parent().map(PathBuf::from),
            limit: options.max_bytes,
            looked_at: None,
            refusal: None,
        }
    }

    /// Why nothing may be added, if so.
    pub fn refusal(&mut self, db: &Connection) -> Option<String> {
        if self.looked_at.is_none_or(|at| at.elapsed() >= LOOK_EVERY) {
            self.looked_at = Some(Instant::now());
            self.refusal = self.look(db);
        }
        self.refusal.clone()
    }

    fn look(&self, db: &Connection) -> Option<String> {
        if let Some(limit) = self.limit
            && let Ok(used) = used(db)
            && used >= limit
        {
            return Some(format!(
                "the database holds {used} bytes and its limit is {limit}: raise the limit or keep less"
            ));
        }
        let disk = rustix::fs::statvfs(self.folder.as_ref()?).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        let reserve = RESERVE.min(disk.f_blocks * disk.f_frsize / 10);
        (free < reserve).then(|| {
            format!(
                "{free} bytes are free on the disk and {reserve} are kept for settling: free space"
            )
        })
    }
}

/// Bytes in use, free pages not counted.
pub(crate) fn used(db: &Connection) -> rusqlite::Result<u64> {
    db.query_row(
        "SELECT (c.page_count - f.freelist_count) * s.page_size
         FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s",
        [],
        |row| row.get::<_, i64>(0),
    )
    .map(|bytes| bytes as u64)
}
