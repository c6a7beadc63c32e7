//! What can happen on the way to the store and back.

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gancho_domain::Clock;
use gancho_engine::Engine;
use gancho_store::{Result, StoreError};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SimClock,
    world::{LifeId, What, World},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Accept,
    Claim,
    Release,
    Settle,
    Join,
    Heartbeat,
    Leave,
    Rescue,
    Pauses,
    Upkeep,
}

/// One process and its connection to the store.
pub struct Life {
    pub id: LifeId,
    pub world: Arc<World>,
    /// What the process takes for the time, and its machine.
    pub clock: Arc<dyn Clock>,
    pub machine: SimClock,
    pub engine: OnceLock<Weak<Engine>>,
    pub died: CancellationToken,
    /// The store has failed for this process: every further call fails.
    pub broken: AtomicBool,
    /// The heartbeats of the process hang until then.
    pub frozen_until: Mutex<Duration>,
    /// All of its calls hang until then.
    pub cut_off_until: Mutex<Duration>,
}

#[derive(Clone)]
pub struct Tap(pub Arc<Life>);

impl Life {
    /// Ends every task of the process at once.
    pub fn die(&self, how: &'static str) {
        if self.died.is_cancelled() {
            return;
        }
        self.world.note(What::Died { life: self.id, how });
        self.died.cancel();
        if let Some(engine) = self.engine.get().and_then(Weak::upgrade) {
            engine.abort();
        }
    }
}

impl Tap {
    /// Acts before the call reaches the store: an error means that nothing was written.
    pub async fn before(&self, step: Step) -> Result<()> {
        self.check_memory();
        self.wander().await;
        self.hang(step).await;
        self.maybe_die("before the commit").await;
        self.maybe_break(step, "before the commit")?;
        let world = &self.0.world;
        let refuse = world.scenario.refuse_one_in.filter(|_| !world.is_calm());
        if refuse.is_some_and(|n| world.dice.one_in(n)) {
            return Err(if world.dice.one_in(4) {
                StoreError::Full("for now".into())
            } else {
                StoreError::Unavailable("for now".into())
            });
        }
        Ok(())
    }

    /// Acts after the commit, before the caller knows of it.
    pub async fn after(&self, step: Step) -> Result<()> {
        self.wander().await;
        self.maybe_die("after the commit").await;
        self.maybe_break(step, "after the commit")
    }

    /// Takes a while, and sometimes lets other tasks go first.
    async fn wander(&self) {
        let dice = &self.0.world.dice;
        match dice.roll(0, 7) {
            0..=3 => {}
            4 | 5 => tokio::task::yield_now().await,
            6 => {
                for _ in 0..dice.roll(1, 8) {
                    tokio::task::yield_now().await;
                }
            }
            _ => tokio::time::sleep(dice.millis(1, 20)).await,
        }
    }

    async fn hang(&self, step: Step) {
        loop {
            let now = self.0.world.clock.elapsed();
            let mut until = (*self.0.world.hangs_until.lock()).max(*self.0.cut_off_until.lock());
            if step == Step::Heartbeat {
                until = until.max(*self.0.frozen_until.lock());
            }
            if until <= now {
                return;
            }
            tokio::time::sleep(until.saturating_sub(now)).await;
        }
    }

    async fn maybe_die(&self, how: &'static str) {
        let world = &self.0.world;
        let crash = world.scenario.crash_one_in.filter(|_| !world.is_calm());
        if crash.is_some_and(|n| world.dice.one_in(n)) {
            self.0.die(how);
            std::future::pending::<()>().await;
        }
    }

    /// Breaks the store sometimes. The outcome is unknown to the caller, who must stop.
    fn maybe_break(&self, step: Step, when: &str) -> Result<()> {
        let world = &self.0.world;
        if self.0.broken.load(Ordering::Relaxed) {
            return Err(StoreError::Broken("some time ago".to_owned()));
        }
        let broken = world.scenario.break_one_in.filter(|_| !world.is_calm());
        if broken.is_some_and(|n| world.dice.one_in(n)) {
            self.0.broken.store(true, Ordering::Relaxed);
            world.note(What::Fault(format!("{:?}: {step:?} breaks {when}", self.0.id)));
            return Err(StoreError::Broken(when.to_owned()));
        }
        Ok(())
    }

    fn check_memory(&self) {
        let Some(engine) = self.0.engine.get().and_then(Weak::upgrade) else {
            return;
        };
        let jobs = engine.held().jobs;
        if jobs > self.0.world.scenario.limits.max_jobs {
            self.0.world.note(What::TooMuchHeld { life: self.0.id, jobs });
        }
    }
}
