//! Reads beside the writer, on threads that each have a read-only connection.
//!
//! There are three groups, so that none waits for another: `lookups` finds what publishing needs (an API key,
//! a tenant, its endpoints), `lists` reads pages of tenants' lists, and `upkeep` counts and searches for the
//! gateway itself. Within a group tenants take turns, and no tenant has all of its threads.
//!
//! A read whose caller has gone away is not started; a running one is interrupted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use crossbeam_channel::{Receiver, Sender, unbounded};
use gancho_store::{Account, FairSemaphore, Result, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::tx_error::{TxError, store_error};

pub(crate) struct Readers {
    pub lookups: ReaderGroup,
    pub lists: ReaderGroup,
    pub upkeep: ReaderGroup,
}

impl Readers {
    /// Starts this many threads for `lookups`, `lists` and `upkeep`.
    pub fn start(counts: [usize; 3], open: impl Fn() -> Result<Connection>) -> Result<Self> {
        let [lookups, lists, upkeep] = counts;
        Ok(Self {
            lookups: ReaderGroup::start("lookup", lookups, true, &open)?,
            lists: ReaderGroup::start("list", lists, false, &open)?,
            upkeep: ReaderGroup::start("upkeep", upkeep, false, &open)?,
        })
    }

    pub fn none() -> Self {
        Self {
            lookups: ReaderGroup::none(),
            lists: ReaderGroup::none(),
            upkeep: ReaderGroup::none(),
        }
    }
}

pub(crate) struct ReaderGroup {
    reads: Option<Sender<Read>>,
    threads: Vec<JoinHandle<()>>,
    turns: FairSemaphore,
}

struct Read {
    is_abandoned: Arc<AtomicBool>,
    run: Box<dyn FnOnce(&Connection) + Send>,
}

/// The connections are closed before the writer's, which removes the log.
impl Drop for ReaderGroup {
    fn drop(&mut self) {
        self.reads = None;
        for thread in self.threads.drain(..) {
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// Marks a read as abandoned when its caller stops waiting for it.
struct Caller(Arc<AtomicBool>);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Virtual-machine steps between two calls of SQLite's progress handler: about ten microseconds.
const STEPS: i32 = 1_000;

impl ReaderGroup {
    /// `is_first`: its reads are those that publishing waits for.
    fn start(
        name: &str,
        count: usize,
        is_first: bool,
        open: &impl Fn() -> Result<Connection>,
    ) -> Result<Self> {
        let count = count.max(1);
        let (reads, queue) = unbounded::<Read>();
        let mut threads = Vec::new();
        for number in 0..count {
            let (db, queue) = (open()?, queue.clone());
            let (db, current) = interruptible(db).map_err(|error| store_error(&error))?;
            let thread = thread::Builder::new()
                .name(format!("gancho-{name}-{number}"))
                .spawn(move || {
                    if !is_first {
                        yield_to_others();
                    }
                    serve(&db, &current, &queue);
                })
                .map_err(|error| {
                    StoreError::Refused(format!("could not start a reader thread: {error}"))
                })?;
            threads.push(thread);
        }
        let permits = u32::try_from(count).unwrap_or(u32::MAX);
        let turns = FairSemaphore::new(permits, permits.div_ceil(2));
        Ok(Self { reads: Some(reads), threads, turns })
    }

    fn none() -> Self {
        Self { reads: None, threads: Vec::new(), turns: FairSemaphore::new(1, 1) }
    }

    /// Waits for the account's turn, and reads.
    pub async fn run<T: Send + 'static>(
        &self,
        account: impl Into<Account>,
        read: impl FnOnce(&Connection) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        let turn = self.turns.acquire(account).await?;
        let (reply, answer) = oneshot::channel();
        let stopped = || StoreError::Broken("the readers have stopped".into());
        let is_abandoned = Arc::new(AtomicBool::new(false));
        let _caller = Caller(is_abandoned.clone());
        let run = Box::new(move |db: &Connection| {
            let outcome = read(db).map_err(StoreError::from);
            // The turn lasts until the thread is free again, whether the caller still waits or not.
            drop(turn);
            let _ = reply.send(outcome);
        });
        let reads = self.reads.as_ref().ok_or_else(stopped)?;
        reads.send(Read { is_abandoned, run }).map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }
}

/// The current read of a connection, for its progress handler.
type CurrentRead = Arc<Mutex<Option<Arc<AtomicBool>>>>;

fn interruptible(mut db: Connection) -> rusqlite::Result<(Connection, CurrentRead)> {
    let current = CurrentRead::default();
    let seen = current.clone();
    let is_abandoned = move || {
        let current = seen.lock();
        current.as_ref().is_some_and(|is_abandoned| is_abandoned.load(Ordering::Relaxed))
    };
    db.progress_handler(STEPS, Some(is_abandoned))?;
    Ok((db, current))
}

/// Lowers the priority of this thread: lists and counts use the processor that publishing and delivering leave.
fn yield_to_others() {
    // On Linux, this is the calling thread; elsewhere it would be the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

fn serve(db: &Connection, current: &CurrentRead, queue: &Receiver<Read>) {
    for Read { is_abandoned, run } in queue {
        if is_abandoned.load(Ordering::Relaxed) {
            continue;
        }
        *current.lock() = Some(is_abandoned);
        run(db);
        *current.lock() = None;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
