//! Creates, finds and cancels replays.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use gancho_domain::{Clock, FieldError, IdMaker, ReplayId, field_error::joined};
use gancho_store::{
    FairSemaphore, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayJob, ReplayLimits,
    ReplayTotal, Store, StoreError,
};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::{sync::Notify, time::Instant};

use super::{
    NewReplay, Replay, ReplayState,
    codec::{Request, replay_of},
    count::{Count, count},
    page_locks::PageLocks,
    run::{MAX_PAGES, MAX_PAGES_OF_OWNER},
    validate::{self, validate},
};
use crate::{Owner, Registry};

const COUNT_TURN: Duration = Duration::from_millis(250);
const LIMITS: ReplayLimits = ReplayLimits { max_open: 10, max_kept: 500 };

pub struct Replays {
    pub(super) store: Arc<dyn Store>,
    pub(super) registry: Arc<Registry>,
    pub(super) ids: Arc<IdMaker>,
    pub(super) clock: Arc<dyn Clock>,
    /// The unique name under which this runner holds leases.
    pub(super) name: String,
    default_rate: AtomicU32,
    /// When the next page of each job of this runner is due, to keep to its rate.
    pub(super) due: Mutex<HashMap<ReplayId, Instant>>,
    /// Jobs of this runner whose last page may have been sent in part, and since when.
    pub(super) in_doubt: Mutex<HashMap<ReplayId, Instant>>,
    /// The counts of jobs that are about to start.
    pub(super) counts: Mutex<HashMap<ReplayId, Count>>,
    /// How long a count goes on before others have their turns.
    pub(super) count_turn: Duration,
    pub(super) bell: Notify,
    pub(super) page_locks: PageLocks,
    /// Permits for sending a page.
    pub(super) turns: FairSemaphore,
}

#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("no replay with this id exists")]
    NotFound,
    #[error("the replay has already ended")]
    Over,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Replays {
    pub fn new(
        store: Arc<dyn Store>,
        registry: Arc<Registry>,
        ids: Arc<IdMaker>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let name = ids.make::<gancho_domain::id::ReplayIdKind>().to_string();
        let default_rate = AtomicU32::new(validate::DEFAULT_RATE);
        Self {
            store,
            registry,
            ids,
            clock,
            name,
            default_rate,
            due: Mutex::default(),
            in_doubt: Mutex::default(),
            counts: Mutex::default(),
            count_turn: COUNT_TURN,
            bell: Notify::new(),
            page_locks: PageLocks::default(),
            turns: FairSemaphore::new(MAX_PAGES, MAX_PAGES_OF_OWNER),
        }
    }

    /// Sets the deliveries per second of replays without their own rate.
    #[must_use]
    pub fn at_rate(self, rate: u32) -> Self {
        self.set_rate(rate);
        self
    }

    /// Sets how long a count goes on before others have their turns.
    #[must_use]
    pub fn with_count_turn(self, count_turn: Duration) -> Self {
        Self { count_turn, ..self }
    }

    /// Changes the rate of replays that are created from now on.
    pub fn set_rate(&self, rate: u32) {
        self.default_rate.store(rate.max(1), Ordering::Relaxed);
    }

    /// Stores the job. Any node may run it; a dry run only counts.
    pub async fn create(
        &self,
        owner: impl Into<Owner>,
        new: NewReplay,
    ) -> Result<Replay, ReplayError> {
        let owner = owner.into();
        validate(&*self.store, owner, &new).await?;
        let (id, created_at) = (self.ids.make(), self.clock.now());
        let rate = new.rate.unwrap_or_else(|| self.default_rate.load(Ordering::Relaxed));
        let request = Request::new(&new, rate, created_at);
        let job = NewReplayJob { id, request: request.write()?, created_at };
        let replay = request.replay(&pending(owner, &job))?;
        if new.dry_run {
            let counted = count(&*self.store, owner, &replay).await?;
            let (total, is_total_exact) = (counted.sendable, counted.is_exact);
            let (skipped, state) = (counted.unsendable, ReplayState::Done);
            return Ok(Replay {
                total,
                is_total_exact,
                skipped,
                state,
                is_dry_run: true,
                ..replay
            });
        }
        match self.store.open_replay(owner.scope(), job, LIMITS).await? {
            OpenReplayOutcome::Opened => {}
            OpenReplayOutcome::TooMany { open } => {
                let message = format!(
                    "{open} replays are already running: wait for one to end, or cancel one"
                );
                return Err(ReplayError::Faulty(vec![FieldError::new("too_many", "", message)]));
            }
        }
        self.bell.notify_one();
        Ok(replay)
    }

    pub async fn get(&self, owner: impl Into<Owner>, id: ReplayId) -> Result<Replay, ReplayError> {
        let job = self.store.replay(owner.into().scope(), id).await?;
        Ok(replay_of(&job.ok_or(ReplayError::NotFound)?)?)
    }

    /// Returns a page of replays, newest first, after `after`.
    pub async fn list(
        &self,
        owner: impl Into<Owner>,
        after: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<Replay>, ReplayError> {
        let jobs = self.store.replays(owner.into().scope(), after, max).await?;
        jobs.iter().map(|job| Ok(replay_of(job)?)).collect()
    }

    /// Returns a page of the replays of all tenants and of the operator, newest first.
    pub async fn list_all(
        &self,
        after: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<Replay>, ReplayError> {
        let jobs = self.store.all_replays(after, max).await?;
        jobs.iter().map(|job| Ok(replay_of(job)?)).collect()
    }

    /// Returns a replay of any owner.
    pub async fn find(&self, id: ReplayId) -> Result<Replay, ReplayError> {
        let next = ReplayId::from_bits(id.bits().saturating_add(1));
        let found = self.list_all(Some(next), 1).await?.pop();
        found.filter(|replay| replay.id == id).ok_or(ReplayError::NotFound)
    }

    /// Cancels a replay. What was already sent stays sent.
    pub async fn cancel(
        &self,
        owner: impl Into<Owner>,
        id: ReplayId,
    ) -> Result<Replay, ReplayError> {
        let _between_pages = self.page_locks.lock(id).await;
        let job = self.store.cancel_replay(owner.into().scope(), id, self.clock.now()).await?;
        let job = job.ok_or(ReplayError::NotFound)?;
        if job.state != ReplayState::Canceled {
            return Err(ReplayError::Over);
        }
        Ok(replay_of(&job)?)
    }
}

/// Returns the replay as it is right after its creation.
fn pending(owner: Owner, new: &NewReplayJob) -> ReplayJob {
    ReplayJob {
        id: new.id,
        tenant: owner.tenant(),
        state: ReplayState::Pending,
        request: new.request.clone(),
        total: ReplayTotal::default(),
        sent: ReplayCounts::default(),
        error: None,
        cursor: String::new(),
        lease: None,
        created_at: new.created_at,
        started_at: None,
        finished_at: None,
    }
}
