//! Bringing what is in the log into the file, so that the log can begin anew.
//!
//! Nobody waits for most of it: a thread beside the writer copies and syncs while the writer goes on
//! adding to the log. When it is done, the writer copies the little that came meanwhile, and its next
//! commit begins the log anew.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use gancho_store::{Result, StoreError};
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode, hooks::Wal, wal::CheckpointMode};

use crate::fault::meaning;

/// So many pages make a log worth copying: each time costs two syncs of the file.
const LONG: usize = 2_000;
/// After a failure: a disk that is full is so for a while.
const REST: Duration = Duration::from_secs(1);

pub(crate) struct Log {
    /// Its pages at the last commit.
    pages: Arc<AtomicUsize>,
    /// The helper has copied what there was when it was asked.
    is_copied: Arc<AtomicBool>,
    is_asked: bool,
    helper: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Log {
    /// From now on nothing is copied but by [`Self::tend`]. `beside` is the helper's connection.
    pub fn watch(writer: &mut Connection, beside: Connection) -> Result<Self> {
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        let note = move |_: &mut Wal, count| {
            seen.store(usize::try_from(count).unwrap_or(0), Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(note)).map_err(|error| meaning(&error))?;
        let is_copied = Arc::new(AtomicBool::new(false));
        let (ask, asked) = bounded(1);
        let tell = is_copied.clone();
        let thread = thread::Builder::new()
            .name("gancho-log".into())
            .spawn(move || help(&beside, &asked, &tell))
            .map_err(|error| StoreError::Refused(format!("no thread for the log: {error}")))?;
        Ok(Self { pages, is_copied, is_asked: false, helper: Some((ask, thread)) })
    }

    /// To be called between two transactions.
    pub fn tend(&mut self, writer: &Connection) {
        if self.is_asked {
            if self.is_copied.swap(false, Relaxed) {
                copy(writer);
                self.is_asked = false;
            }
        } else if self.pages.load(Relaxed) >= LONG
            && let Some((ask, _)) = &self.helper
        {
            self.is_asked = ask.try_send(()).is_ok();
        }
    }

    /// Waits for the helper to end.
    pub fn close(&mut self) {
        if let Some((ask, thread)) = self.helper.take() {
            drop(ask);
            let _ = thread.join();
        }
    }
}

fn help(db: &Connection, asked: &Receiver<()>, tell: &AtomicBool) {
    for () in asked {
        if !copy(db) {
            thread::sleep(REST);
        }
        tell.store(true, Relaxed);
    }
}

/// As much as can be without waiting for anybody. What fails stays in the log and is copied again the next
/// time: only what was synced counts as copied.
fn copy(db: &Connection) -> bool {
    match db.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE) {
        Ok(_) => true,
        // Someone else is at it.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => true,
        Err(error) => {
            tracing::warn!(%error, "the log could not be brought into the file, and grows");
            false
        }
    }
}
