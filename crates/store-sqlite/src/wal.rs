//! Checkpoints the write-ahead log: copies its pages into the database file, so that the log can start over.
//!
//! Most of it costs the writer nothing: a helper thread copies while the writer keeps appending. When it is
//! done, the writer copies the few pages that were added meanwhile and syncs all of them, and its next commit
//! starts the log over.
//!
//! What the helper copied counts as copied before it is synced. So after an I/O error of either thread the
//! store stops, as after one of a commit: when it is opened again, SQLite copies the whole log again. For the
//! same reason nothing is copied when a connection is closed.

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
use rusqlite::{Connection, DEFAULT_NAME, hooks, wal::CheckpointMode};

use crate::tx_error::store_error;

/// The number of pages at which a checkpoint is due. Each checkpoint costs two syncs of the file.
const CHECKPOINT_PAGES: usize = 2_000;
/// The pause after a failure: a full disk stays full for a while.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Wal {
    /// The pages of the log at the last commit.
    pages: Arc<AtomicUsize>,
    is_running: bool,
    /// Signals that the helper has copied what existed when it was started, or failed to.
    done: Receiver<Result<()>>,
    helper: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Wal {
    /// Turns automatic checkpoints off: from now on only [`Self::checkpoint_if_due`] copies. `helper` is the
    /// connection of the helper thread.
    pub fn start(writer: &mut Connection, helper: Connection) -> Result<Self> {
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        let note = move |_: &mut hooks::Wal, count| {
            seen.store(usize::try_from(count).unwrap_or(0), Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(note)).map_err(|error| store_error(&error))?;
        let (ask, asked) = bounded(1);
        let (report, done) = bounded(1);
        let thread = thread::Builder::new()
            .name("gancho-wal".into())
            .spawn(move || help(&helper, &asked, &report))
            .map_err(|error| {
                StoreError::Refused(format!("could not start the checkpoint thread: {error}"))
            })?;
        Ok(Self { pages, is_running: false, done, helper: Some((ask, thread)) })
    }

    /// Runs a checkpoint if one is due. Called between two transactions. Fails only if the store must stop.
    pub fn checkpoint_if_due(&mut self, writer: &Connection) -> Result<()> {
        if self.is_running {
            if let Ok(copied) = self.done.try_recv() {
                self.is_running = false;
                copied?;
                checkpoint(writer, CheckpointMode::PASSIVE)?;
            }
        } else if self.pages.load(Relaxed) >= CHECKPOINT_PAGES
            && let Some((ask, _)) = &self.helper
        {
            self.is_running = ask.try_send(()).is_ok();
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

impl Drop for Wal {
    fn drop(&mut self) {
        self.close();
    }
}

fn help(db: &Connection, asked: &Receiver<()>, report: &Sender<Result<()>>) {
    for () in asked {
        let copied = checkpoint(db, CheckpointMode::PASSIVE);
        if matches!(copied, Ok(Checkpoint::NoSpace)) {
            thread::sleep(CHECK_INTERVAL);
        }
        let _ = report.send(copied.map(drop));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checkpoint {
    Done,
    /// A reader or another checkpoint holds the log.
    Busy,
    /// There is no space for it.
    NoSpace,
}

/// Runs a checkpoint. Fails only if the store must stop.
pub(crate) fn checkpoint(db: &Connection, mode: CheckpointMode) -> Result<Checkpoint> {
    let Err(error) = db.wal_checkpoint_v2(DEFAULT_NAME, mode) else { return Ok(Checkpoint::Done) };
    match store_error(&error) {
        StoreError::Unavailable(_) => Ok(Checkpoint::Busy),
        StoreError::Full(_) => {
            tracing::warn!(%error, "could not checkpoint the write-ahead log");
            Ok(Checkpoint::NoSpace)
        }
        _ => Err(StoreError::Broken(format!("could not checkpoint the write-ahead log: {error}"))),
    }
}
