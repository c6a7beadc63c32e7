//! Runs the open replays, a page at a time, each at its own rate. Their owners take turns.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, pending},
};
use gancho_domain::{ReplayId, Time};
use gancho_store::{
    LeasedReplay, ReplayCounts, ReplayEnd, ReplayJob, ReplayLease, ReplayLeaseOrigin, ReplayTotal,
    Result, StoreError,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Replays,
    codec::{Cursor, Request, replay_of},
    count::{Count, PartialCount, count_step},
    page::PageResult,
    steps::Steps,
};
use crate::Owner;

/// How long a runner may be silent before another node takes over its replay.
const LEASE: Duration = Duration::from_secs(30);
/// How often open replays are polled.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum replays that run at the same time. If there are more, the oldest of each owner come first.
const MAX_RUNNING: usize = 1_000;
const MAX_PER_PAGE: u32 = 100;
/// How long a doubt about a page is remembered of a replay that is not listed: its database may be away.
const MAX_DOUBT: Duration = Duration::from_hours(24);

/// Maximum pages that are sent at the same time.
pub(super) const MAX_PAGES: u32 = 4;
/// Maximum pages of one owner among them.
pub(super) const MAX_PAGES_OF_OWNER: u32 = 2;

impl Replays {
    /// Runs until it is stopped. Pages that are being sent are finished, and the replays continue at the next start.
    pub async fn run(&self, stop: CancellationToken) {
        let mut steps = Steps::default();
        let (mut open, mut read_at) = (Vec::new(), None::<Instant>);
        // Pages are sent meanwhile: a database that does not answer stops those of the others no longer than itself.
        let mut reading = None;
        while !stop.is_cancelled() {
            if reading.is_none() && read_at.is_none_or(|at| at.elapsed() >= POLL_INTERVAL) {
                reading = Some(self.read_open().boxed());
                read_at = Some(Instant::now());
            }
            let next = self.start_due(&open, &mut steps, &stop);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                found = end_of(&mut reading) => {
                    reading = None;
                    match found {
                        Ok(found) => open = found,
                        Err(error) => {
                            tracing::warn!(%error, "could not read the open replays; will retry");
                        }
                    }
                }
                () = steps.next_end() => {}
                () = self.bell.notified() => read_at = None,
                () = tokio::time::sleep(next) => {}
            }
        }
        steps.end_all().await;
    }

    /// Sends one page of every open replay that is due and that no other node holds. Returns the time until
    /// the next one is due.
    pub async fn run_once(&self) -> Result<Option<Duration>> {
        let mut steps = Steps::default();
        self.start_due(&self.read_open().await?, &mut steps, &CancellationToken::new());
        steps.end_all().await;
        let next = self.due.lock().values().min().copied();
        Ok(next.map(|due| due.saturating_duration_since(Instant::now())))
    }

    async fn read_open(&self) -> Result<Vec<ReplayJob>> {
        let open = self.store.open_replays(MAX_RUNNING).await?;
        self.forget_ended(&open);
        Ok(open)
    }

    /// Starts the next page of each replay that is due. Returns when to check again, at the latest.
    fn start_due<'a>(
        &'a self,
        open: &[ReplayJob],
        steps: &mut Steps<'a>,
        stop: &CancellationToken,
    ) -> Duration {
        let mut next = POLL_INTERVAL;
        for job in open {
            if steps.contains(job.id) {
                continue;
            }
            let due_in = self.due_in(job.id).max(steps.rests_for(job.id));
            if due_in.is_zero() {
                let (job, stop) = (job.clone(), stop.clone());
                steps.start(job.id, async move { self.take_turn(&job, &stop).await });
            } else {
                next = next.min(due_in);
            }
        }
        next
    }

    /// Sends a page when it is the owner's turn. Returns whether another page of the replay follows.
    async fn take_turn(&self, job: &ReplayJob, stop: &CancellationToken) -> bool {
        let sent = async {
            let _turn = self.turns.acquire(job.tenant).await?;
            if stop.is_cancelled() { Ok(false) } else { self.step(job).await }
        };
        // A failing replay must not block the others.
        sent.await.unwrap_or_else(|error| {
            tracing::warn!(%error, replay = %job.id, "replay step failed; will retry");
            false
        })
    }

    /// Sends one page of a replay, if this node holds its lease.
    async fn step(&self, found: &ReplayJob) -> Result<bool> {
        let (owner, id) = (Owner::of(found.tenant), found.id);
        let is_held = found
            .lease
            .as_ref()
            .is_some_and(|lease| lease.runner != self.name && lease.until > self.clock.now());
        if is_held {
            return Ok(false);
        }
        if !self.has_counted(owner, found).await? {
            return Ok(true);
        }
        let _page = self.page_locks.lock(id).await;
        let Some((job, doubt)) = self.take(found).await? else {
            return Ok(false);
        };
        let request = Request::read(&job)?;
        let (replay, started) = (request.replay(&job)?, Instant::now());
        let max = replay.rate.min(MAX_PER_PAGE) as usize;
        let page = (&Cursor::read(&job.cursor)?, request.order());
        let sent = self.send_page(owner, &replay, page, max, doubt).await;
        let (was_sent, count) = (sent.is_ok(), sent.as_ref().map_or(0, PageResult::count));
        if let Ok(page) = &sent {
            self.remember(owner, &job, &page.sent).await;
        }
        let noted = self.note(id, sent).await;
        // A page that failed, or may not have been recorded, is checked before it is sent again.
        self.note_doubt(id, !was_sent || noted.is_err());
        if noted? {
            self.note_due(id, started, count, replay.rate);
            return Ok(true);
        }
        // It has ended, was canceled, or another node took it over.
        self.due.lock().remove(&id);
        self.in_doubt.lock().remove(&id);
        Ok(false)
    }

    /// Takes or renews the lease, and returns since when an unrecorded page may have been sent. `None` if
    /// the replay has ended or belongs to another node.
    async fn take(&self, found: &ReplayJob) -> Result<Option<(ReplayJob, Option<Time>)>> {
        let total = match self.counts.lock().get(&found.id) {
            Some(Count::Ended(counted)) => ReplayTotal {
                count: counted.sendable + counted.unsendable,
                is_exact: counted.is_exact,
            },
            _ => ReplayTotal::default(),
        };
        let taken =
            self.store.lease_replay(found.id, self.lease(), total, self.clock.now()).await?;
        Ok(taken.map(|LeasedReplay { job, take }| {
            let is_in_doubt = match take {
                ReplayLeaseOrigin::Started => false,
                ReplayLeaseOrigin::TakenOver => true,
                ReplayLeaseOrigin::Renewed => self.in_doubt.lock().contains_key(&job.id),
            };
            let doubt = job.started_at.filter(|_| is_in_doubt);
            (job, doubt)
        }))
    }

    /// Counts for a while, without the lock of the replay, so that it can be canceled. Returns whether the count has
    /// ended; if not, others have their turns before it goes on.
    async fn has_counted(&self, owner: Owner, found: &ReplayJob) -> Result<bool> {
        // `found` may be older than the first page.
        if found.started_at.is_some() || self.due.lock().contains_key(&found.id) {
            return Ok(true);
        }
        let so_far = match self.counts.lock().get(&found.id) {
            Some(Count::Ended(_)) => return Ok(true),
            Some(Count::Partial(so_far)) => so_far.clone(),
            None => PartialCount::default(),
        };
        let replay = replay_of(found)?;
        let count = count_step(&*self.store, owner, &replay, so_far, self.count_turn).await?;
        let has_ended = matches!(count, Count::Ended(_));
        self.counts.lock().insert(found.id, count);
        Ok(has_ended)
    }

    fn lease(&self) -> ReplayLease {
        ReplayLease { runner: self.name.clone(), until: self.clock.now() + LEASE }
    }

    /// Records a page, and returns whether there is another. If the store is unavailable, this is repeated
    /// later; corrupt data ends the replay.
    async fn note(&self, id: ReplayId, sent: Result<PageResult>) -> Result<bool> {
        let (page, next) = match sent {
            Ok(PageResult { done, skipped, failed, next, .. }) => {
                (ReplayCounts { done, skipped, failed }, next.ok_or(ReplayEnd::Done))
            }
            Err(StoreError::Corrupt(why)) => (ReplayCounts::default(), Err(ReplayEnd::Failed(why))),
            Err(error) => return Err(error),
        };
        match next {
            Ok(cursor) => self.store.advance_replay(id, self.lease(), page, cursor.write()?).await,
            Err(end) => {
                self.store.end_replay(id, &self.name, page, end, self.clock.now()).await?;
                Ok(false)
            }
        }
    }

    /// Forgets replays that have ended on other nodes, or are in a database that does not answer.
    fn forget_ended(&self, open: &[ReplayJob]) {
        let is_open = |id: &ReplayId| open.iter().any(|job| job.id == *id);
        self.due.lock().retain(|id, _| is_open(id));
        self.counts.lock().retain(|id, _| is_open(id));
        let mut in_doubt = self.in_doubt.lock();
        in_doubt.retain(|id, since| is_open(id) || since.elapsed() < MAX_DOUBT);
    }

    fn note_doubt(&self, id: ReplayId, is_in_doubt: bool) {
        let mut in_doubt = self.in_doubt.lock();
        if is_in_doubt {
            in_doubt.insert(id, Instant::now());
        } else {
            in_doubt.remove(&id);
        }
    }

    fn due_in(&self, id: ReplayId) -> Duration {
        let due = self.due.lock().get(&id).copied();
        due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()))
    }

    fn note_due(&self, id: ReplayId, started: Instant, count: u64, rate: u32) {
        let due = started + Duration::from_secs_f64(count as f64 / f64::from(rate.max(1)));
        self.due.lock().insert(id, due);
    }
}

/// The list that is being read; never, if none is.
async fn end_of<T>(reading: &mut Option<BoxFuture<'_, T>>) -> T {
    match reading {
        Some(reading) => reading.await,
        None => pending().await,
    }
}
