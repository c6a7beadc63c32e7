//! Bringing what is in the log into the file, so that the log can begin anew.
//!
//! Nobody waits for most of it: a thread beside the writer copies while the writer goes on adding to the
//! log. When it is done, the writer copies the little that came meanwhile and syncs all of it, and its next
//! commit begins the log anew.
//!
//! What the helper copied counts as copied before it is synced. So after an I/O error of either the store
//! stops, as after one of a commit: opened anew, SQLite copies the whole log again. Nothing is copied when
//! a connection is closed, for the same reason.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use gancho_store::{Result, StoreError};
use rusqlite::{Connection, DEFAULT_NAME, hooks::Wal, wal::CheckpointMode};

use crate::fault::meaning;

/// So many pages make a log worth copying: each time costs two syncs of the file.
const LONG: usize = 2_000;
/// After a failure: a disk that is full is so for a while.
const REST: Duration = Duration::from_secs(1);

pub(crate) struct Log {
    /// Its pages at the last commit.
    pages: Arc<AtomicUsize>,
    is_asked: bool,
    /// The helper has copied what there was when it was asked, or could not.
    told: Receiver<Result<()>>,
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
        let (ask, asked) = bounded(1);
        let (tell, told) = bounded(1);
        let thread = thread::Builder::new()
            .name("gancho-log".into())
            .spawn(move || help(&beside, &asked, &tell))
            .map_err(|error| StoreError::Refused(format!("no thread for the log: {error}")))?;
        Ok(Self { pages, is_asked: false, told, helper: Some((ask, thread)) })
    }

    /// To be called between two transactions. Fails only when the store must stop.
    pub fn tend(&mut self, writer: &Connection) -> Result<()> {
        if self.is_asked {
            if let Ok(copied) = self.told.try_recv() {
                self.is_asked = false;
                copied?;
                copy(writer, CheckpointMode::PASSIVE)?;
            }
        } else if self.pages.load(Relaxed) >= LONG
            && let Some((ask, _)) = &self.helper
        {
            self.is_asked = ask.try_send(()).is_ok();
        }
        Ok(())
    }

    /// Waits for the helper to end.
    pub fn close(&mut self) {
        if let Some((ask, thread)) = self.helper.take() {
            drop(ask);
            let _ = thread.join();
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

fn help(db: &Connection, asked: &Receiver<()>, tell: &Sender<Result<()>>) {
    for () in asked {
        let copied = copy(db, CheckpointMode::PASSIVE);
        if matches!(copied, Ok(Copied::No)) {
            thread::sleep(REST);
        }
        let _ = tell.send(copied.map(drop));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    Yes,
    /// Someone else is at it.
    Busy,
    /// There is no room for it.
    No,
}

/// Fails only when the store must stop.
pub(crate) fn copy(db: &Connection, mode: CheckpointMode) -> Result<Copied> {
    let Err(error) = db.wal_checkpoint_v2(DEFAULT_NAME, mode) else { return Ok(Copied::Yes) };
    match meaning(&error) {
        StoreError::Unavailable(_) => Ok(Copied::Busy),
        StoreError::Full(_) => {
            tracing::warn!(%error, "the log could not be brought into the file, and grows");
            Ok(Copied::No)
        }
        _ => {
            Err(StoreError::Broken(format!("the log could not be brought into the file: {error}")))
        }
    }
}
