//! The one writer: a thread that commits whatever steps have gathered while the last commit was being synced.
//! A single caller is committed at once; under load, hundreds share one sync.

mod turns;
mod waiting;

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, unbounded};
use gancho_store::{Result, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot, watch};

pub(crate) use self::turns::{Share, pages};
use self::waiting::{MAX, StepQueue};
use crate::{
    key_buffer,
    open::{self, Options, WriterConnection},
    space::{Gate, SpaceLimit},
    transaction::{Tx, alone, begin, commit, roll_back},
    tx_error::TxError,
    wal::Wal,
    writer_cache::WriterCache,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Adds to the store. Refused while the disk is nearly full.
    Growth,
    /// Everything else, allowed until the disk is full.
    Upkeep,
}

pub(crate) enum Writer {
    Thread {
        steps: Sender<Call>,
        broken: watch::Receiver<Option<StoreError>>,
        limit: SpaceLimit,
        thread: Option<JoinHandle<()>>,
    },
    Inline {
        db: Arc<Mutex<(Connection, WriterCache)>>,
        bell: Arc<Notify>,
        broken: watch::Receiver<Option<StoreError>>,
    },
    /// The file was opened to read it.
    None { broken: watch::Receiver<Option<StoreError>> },
}

/// A step on its way to the writer.
pub(crate) struct Call {
    kind: Step,
    /// `None` for what does not take turns: what the gateway itself writes, and what has its share already.
    share: Option<Share>,
    work: Box<dyn Work>,
}

/// A step with the caller that waits for it.
pub(crate) trait Work: Send {
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), TxError>;
    /// Called once: after the commit, or with the reason why there was none.
    fn answer(self: Box<Self>, outcome: Result<()>);
    /// Whether nobody waits for it any more.
    fn is_abandoned(&self) -> bool;
}

struct QueuedStep<F, T> {
    step: F,
    result: Option<T>,
    caller: oneshot::Sender<Result<T>>,
}

impl<F, T> Work for QueuedStep<F, T>
where
    F: FnMut(&Tx<'_>) -> Result<T, TxError> + Send,
    T: Send,
{
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), TxError> {
        self.result = Some((self.step)(tx)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { result, caller, .. } = *self;
        let unrun = || StoreError::Broken("a step was committed without running".into());
        let answer = outcome.and_then(|()| result.ok_or_else(unrun));
        // A caller that has gone away does not matter: its step is done or not done.
        let _ = caller.send(answer);
    }

    fn is_abandoned(&self) -> bool {
        self.caller.is_closed()
    }
}

impl Writer {
    pub fn start(
        mut opened: WriterConnection,
        options: &Options,
        bell: Arc<Notify>,
    ) -> Result<Self> {
        let (steps, queue) = unbounded();
        let (tell, broken) = watch::channel(None);
        let cache = WriterCache::load(&opened.db, key_buffer::FLUSH_AT)?;
        let wal = Wal::start(&mut opened.db, open::beside_the_writer(&options.path)?)?;
        let limit = SpaceLimit::new(options.max_bytes);
        let mut committer = Committer {
            gate: Gate::new(options, limit.clone()),
            opened,
            queue,
            waiting: StepQueue::default(),
            bell,
            tell,
            dead_letter_ttl: options.dead_letter_ttl,
            cache,
            wal,
            crowd: 0,
        };
        let thread = thread::Builder::new()
            .name("gancho-writer".into())
            .spawn(move || committer.run())
            .map_err(|error| {
                StoreError::Refused(format!("could not start the writer thread: {error}"))
            })?;
        Ok(Self::Thread { steps, broken, limit, thread: Some(thread) })
    }

    pub fn inline(db: Connection, bell: Arc<Notify>) -> Result<Self> {
        let (_, broken) = watch::channel(None);
        let cache = WriterCache::load(&db, key_buffer::FLUSH_AT)?;
        Ok(Self::Inline { db: Arc::new(Mutex::new((db, cache))), bell, broken })
    }

    pub fn none() -> Self {
        let (_, broken) = watch::channel(None);
        Self::None { broken }
    }

    pub fn broken(&self) -> watch::Receiver<Option<StoreError>> {
        match self {
            Self::Thread { broken, .. } | Self::Inline { broken, .. } | Self::None { broken } => {
                broken.clone()
            }
        }
    }

    /// Returns the size above which nothing may be added, if one is set.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Thread { limit, .. } => limit.get(),
            Self::Inline { .. } | Self::None { .. } => None,
        }
    }

    pub fn set_limit(&self, max_bytes: Option<u64>) {
        if let Self::Thread { limit, .. } = self {
            limit.set(max_bytes);
        }
    }

    /// Returns the connection itself, if there is no thread.
    pub fn shared(&self) -> Option<&Mutex<(Connection, WriterCache)>> {
        match self {
            Self::Thread { .. } | Self::None { .. } => None,
            Self::Inline { db, .. } => Some(db),
        }
    }

    pub async fn run<T: Send + 'static>(
        &self,
        kind: Step,
        share: Option<Share>,
        mut step: impl FnMut(&Tx<'_>) -> Result<T, TxError> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Thread { steps, broken, .. } => {
                let (caller, answer) = oneshot::channel();
                let gone = || {
                    broken
                        .borrow()
                        .clone()
                        .unwrap_or_else(|| StoreError::Broken("the writer has stopped".into()))
                };
                let work = Box::new(QueuedStep { step, result: None, caller });
                steps.send(Call { kind, share, work }).map_err(|_| gone())?;
                answer.await.unwrap_or_else(|_| Err(gone()))
            }
            Self::Inline { db, bell, .. } => {
                let shared = db.lock();
                let (db, cache) = &*shared;
                let ttl = open::DEAD_LETTER_TTL;
                let (result, ring) = alone(db, cache, ttl, |tx| step(tx))?;
                if ring {
                    ring_out(bell);
                }
                Ok(result)
            }
            Self::None { .. } => {
                Err(StoreError::Refused("the database was opened read-only".into()))
            }
        }
    }
}

/// Closes the store. After that everything is in the database file, and there is no write-ahead log.
impl Drop for Writer {
    fn drop(&mut self) {
        let Self::Thread { steps, thread, .. } = self else { return };
        // The thread ends when no sender is left.
        *steps = unbounded().0;
        if let Some(thread) = thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn ring_out(bell: &Notify) {
    // For callers that wait now, and those that come next.
    bell.notify_waiters();
    bell.notify_one();
}

struct Committer {
    /// Ends before the file lock is released.
    wal: Wal,
    opened: WriterConnection,
    gate: Gate,
    queue: Receiver<Call>,
    waiting: StepQueue,
    bell: Arc<Notify>,
    tell: watch::Sender<Option<StoreError>>,
    dead_letter_ttl: Duration,
    cache: WriterCache,
    /// The average number of steps in the last commits, in sixteenths.
    crowd: usize,
}

/// How long to wait for more steps under load, where it saves more than it costs.
const GATHER: Duration = Duration::from_millis(1);
/// The number of steps that counts as load.
const CROWD: usize = 12;

impl Committer {
    fn run(&mut self) {
        while let Some(batch) = self.gather() {
            if let Err(error) = self.commit(batch).and_then(|()| self.after_commit()) {
                tracing::error!(%error, "store stopped after an error; nothing unsynced was acknowledged");
                let _ = self.tell.send(Some(error.clone()));
                // Callers that are queued, or come before the error is visible, get it as well.
                for (_, work) in self.waiting.take_all() {
                    work.answer(Err(error.clone()));
                }
                while let Ok(Call { work, .. }) =
                    self.queue.recv_timeout(Duration::from_millis(200))
                {
                    work.answer(Err(error.clone()));
                }
                return;
            }
        }
        self.wal.close();
        self.opened.close();
    }

    fn after_commit(&mut self) -> Result<()> {
        self.gate.failure()?;
        self.wal.checkpoint_if_due(&self.opened.db)
    }

    /// Returns the waiting steps, or waits for the next. `None` when the store is dropped.
    fn gather(&mut self) -> Option<Vec<(Step, Box<dyn Work>)>> {
        if self.waiting.is_empty() {
            let next = self.queue.recv().ok()?;
            self.waiting.push(next);
        }
        self.queue.try_iter().for_each(|call| self.waiting.push(call));
        if self.crowd >= CROWD * 16 {
            let until = Instant::now() + GATHER;
            // As many steps as last time are enough: they are the same callers again.
            while self.waiting.len() < MAX.min(self.crowd / 16) {
                match self.queue.recv_deadline(until) {
                    Ok(call) => self.waiting.push(call),
                    Err(_) => break,
                }
            }
            self.queue.try_iter().for_each(|call| self.waiting.push(call));
        }
        let batch = self.waiting.take();
        self.crowd = (self.crowd * 3 + batch.len() * 16) / 4;
        Some(batch)
    }

    /// Commits a batch. Fails only if the store must stop.
    fn commit(&self, batch: Vec<(Step, Box<dyn Work>)>) -> Result<()> {
        let mut works = self.refuse_growth(batch);
        if works.is_empty() {
            return Ok(());
        }
        let db = &self.opened.db;
        let tx = Tx::new(db, &self.cache, self.dead_letter_ttl);
        match together(&tx, &mut works) {
            Ok(refusals) => {
                if tx.has_rung() {
                    ring_out(&self.bell);
                }
                for (work, refusal) in works.into_iter().zip(refusals) {
                    work.answer(refusal.map_or(Ok(()), Err));
                }
                Ok(())
            }
            Err(error) => {
                roll_back(&tx);
                match StoreError::from(error) {
                    // Alone, each would only wait for the same lock.
                    error @ (StoreError::Broken(_) | StoreError::Unavailable(_)) => {
                        for work in works {
                            work.answer(Err(error.clone()));
                        }
                        if matches!(error, StoreError::Broken(_)) { Err(error) } else { Ok(()) }
                    }
                    StoreError::Full(_) => {
                        self.gate.empty_log(db);
                        self.one_by_one(works)
                    }
                    _ => self.one_by_one(works),
                }
            }
        }
    }

    /// Runs each step alone, because one of them failed and only that one shall fail.
    fn one_by_one(&self, works: Vec<Box<dyn Work>>) -> Result<()> {
        let mut broken = Ok(());
        for mut work in works {
            let outcome = if let Err(error) = &broken {
                Err(StoreError::clone(error))
            } else {
                let (db, cache) = (&self.opened.db, &self.cache);
                alone(db, cache, self.dead_letter_ttl, |tx| work.run(tx))
            };
            if let Err(error @ StoreError::Broken(_)) = &outcome {
                broken = Err(error.clone());
            }
            if let Ok(((), true)) = outcome {
                ring_out(&self.bell);
            }
            work.answer(outcome.map(drop));
        }
        broken
    }

    fn refuse_growth(&self, batch: Vec<(Step, Box<dyn Work>)>) -> Vec<Box<dyn Work>> {
        let refusal = self.gate.refusal(&self.opened.db);
        let mut works = Vec::with_capacity(batch.len());
        for (step, work) in batch {
            match &refusal {
                Some(why) if step == Step::Growth => {
                    work.answer(Err(StoreError::Full(why.clone())));
                }
                _ => works.push(work),
            }
        }
        works
    }
}

/// Runs all steps in one transaction. A step that refuses before it writes does not affect the others.
fn together(tx: &Tx<'_>, works: &mut [Box<dyn Work>]) -> Result<Vec<Option<StoreError>>, TxError> {
    begin(tx.db)?;
    let mut refusals = Vec::with_capacity(works.len());
    for work in works {
        refusals.push(match work.run(tx) {
            Ok(()) => None,
            Err(TxError::Refused(no @ (StoreError::Fenced | StoreError::Taken(_)))) => Some(no),
            Err(error) => return Err(error),
        });
    }
    commit(tx)?;
    Ok(refusals)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
