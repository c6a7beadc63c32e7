//! The loop that takes open replays in turn, a page at a time, each at its own rate.

use std::time::Duration;

use gancho_domain::{ReplayId, Time};
use gancho_store::{Expect, Record, Result, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    ReplayState, Replays,
    count::count,
    jobs::{KIND, MOST_OPEN_IN_ALL, OPEN, TRIES, id_of, key},
    kept::{Kept, Lease},
    page::Sent,
};
use crate::Owner;

/// Another node takes a replay over whose runner was silent for so long.
const LEASE: Duration = Duration::from_secs(30);
/// How often open replays are looked for when nothing says that there are some.
const LOOK: Duration = Duration::from_secs(2);
const MOST_IN_A_PAGE: u32 = 100;
/// A mark without a job is removed when it is so old: its maker is not between the two any more.
const MARK_WITHOUT_JOB: Duration = Duration::from_secs(60);

impl Replays {
    /// Until it is told to stop. What is under way then is finished, and goes on at the next start.
    pub async fn run(&self, stop: CancellationToken) {
        loop {
            let next = match self.run_once().await {
                Ok(next) => next.unwrap_or(LOOK).min(LOOK),
                Err(error) => {
                    tracing::warn!(%error, "replays wait for the store");
                    LOOK
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.bell.notified() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    /// One page of every open replay that no other node holds and that is due. Says how long until
    /// the next is.
    pub async fn run_once(&self) -> Result<Option<Duration>> {
        let mut next = None;
        for mark in self.store.records(OPEN, None, MOST_OPEN_IN_ALL).await? {
            let Some(id) = id_of(&mark.key) else { continue };
            let due_in = self.due_in(id);
            if !due_in.is_zero() {
                next = earlier(next, Some(due_in));
                continue;
            }
            let tenant = std::str::from_utf8(&mark.body).ok().and_then(|text| text.parse().ok());
            match self.step(Owner::of(tenant), id).await {
                Ok(due_in) => next = earlier(next, due_in),
                // One that cannot go on must not hold up the others.
                Err(error) => tracing::warn!(%error, replay = %id, "a replay waits"),
            }
        }
        Ok(next)
    }

    /// One page of one replay, if it is ours to run.
    async fn step(&self, owner: Owner, id: ReplayId) -> Result<Option<Duration>> {
        let Some(record) = self.store.record(owner.shelf(KIND), &key(id)).await? else {
            if self.clock.now().since(id.time()) > MARK_WITHOUT_JOB {
                self.close(id).await?;
            }
            return Ok(None);
        };
        let _page = self.page_lock.lock().await;
        let Some((mut kept, version, doubt)) = self.take(owner, id, &record).await? else {
            return Ok(None);
        };
        let (replay, started) = (kept.shown()?, Instant::now());
        let most = replay.rate.min(MOST_IN_A_PAGE) as usize;
        let page = (&kept.cursor, kept.order());
        let sent = self.send_page(owner, &replay, page, most, doubt).await;
        let count = sent.as_ref().map_or(0, Sent::count);
        let counts = sent.as_ref().ok().map(|sent| (sent.done, sent.skipped, sent.failed));
        // What was sent of a page that failed is not known: it is looked at before it is sent again.
        self.note_doubt(id, sent.is_err());
        let is_over = note(&mut kept, sent, self.clock.now())?;
        if self.save(owner, id, &mut kept, version).await?.is_none() {
            // It was cancelled, or another took it over.
            self.due.lock().remove(&id);
            if let Some(counts) = counts {
                self.count_late(owner, id, counts).await?;
            }
            return Ok(None);
        }
        if is_over {
            self.close(id).await?;
            return Ok(None);
        }
        Ok(Some(self.wait_for(id, started, count, replay.rate)))
    }

    /// Adds a page that was sent while another node cancelled the replay. Where another took the replay
    /// over instead, that one looks at the page again and counts it.
    async fn count_late(
        &self,
        owner: Owner,
        id: ReplayId,
        (done, skipped, failed): (u64, u64, u64),
    ) -> Result<()> {
        let shelf = owner.shelf(KIND);
        for _ in 0..TRIES {
            let Some(record) = self.store.record(shelf, &key(id)).await? else { return Ok(()) };
            let mut kept = Kept::read(&record.body)?;
            if kept.state()? != ReplayState::Cancelled {
                return Ok(());
            }
            kept.done += done;
            kept.skipped += skipped;
            kept.failed += failed;
            let expect = Expect::Version(record.version);
            if self.store.put_record(shelf, &key(id), kept.write()?, expect).await?.is_some() {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("the replay kept being changed".into()))
    }

    /// Takes the lease, or renews it. Nothing where the replay is over or another's.
    async fn take(
        &self,
        owner: Owner,
        id: ReplayId,
        record: &Record,
    ) -> Result<Option<(Kept, u64, Option<Time>)>> {
        let mut kept = Kept::read(&record.body)?;
        let now = self.clock.now();
        if kept.state()?.is_final() {
            self.close(id).await?;
            return Ok(None);
        }
        let is_mine = kept.lease.as_ref().is_some_and(|lease| lease.by == self.name);
        let is_held = kept.lease.as_ref().is_some_and(|lease| lease.until > now.micros());
        if is_mine {
            let started_at = kept.shown()?.started_at;
            let doubt = started_at.filter(|_| self.in_doubt.lock().contains(&id));
            return Ok(Some((kept, record.version, doubt)));
        }
        if is_held {
            return Ok(None);
        }
        // Whoever held it may have sent a page that it did not write down.
        let doubt = kept.shown()?.started_at;
        kept.started(now);
        if doubt.is_none() {
            (kept.total, kept.is_total_exact) = count(&*self.store, owner, &kept.shown()?).await?;
        }
        let version = self.save(owner, id, &mut kept, record.version).await?;
        Ok(version.map(|version| (kept, version, doubt)))
    }

    /// With a fresh lease, unless it is over. Nothing where another version is there by now.
    async fn save(
        &self,
        owner: Owner,
        id: ReplayId,
        kept: &mut Kept,
        version: u64,
    ) -> Result<Option<u64>> {
        if !kept.state()?.is_final() {
            let until = (self.clock.now() + LEASE).micros();
            kept.lease = Some(Lease { by: self.name.clone(), until });
        }
        let expect = Expect::Version(version);
        self.store.put_record(owner.shelf(KIND), &key(id), kept.write()?, expect).await
    }

    async fn close(&self, id: ReplayId) -> Result<()> {
        self.due.lock().remove(&id);
        self.in_doubt.lock().remove(&id);
        self.store.delete_record(OPEN, &key(id)).await?;
        Ok(())
    }

    fn note_doubt(&self, id: ReplayId, is_in_doubt: bool) {
        let mut in_doubt = self.in_doubt.lock();
        if is_in_doubt {
            in_doubt.insert(id);
        } else {
            in_doubt.remove(&id);
        }
    }

    fn due_in(&self, id: ReplayId) -> Duration {
        let due = self.due.lock().get(&id).copied();
        due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()))
    }

    fn wait_for(&self, id: ReplayId, started: Instant, count: u64, rate: u32) -> Duration {
        let due = started + Duration::from_secs_f64(count as f64 / f64::from(rate.max(1)));
        self.due.lock().insert(id, due);
        due.saturating_duration_since(Instant::now())
    }
}

/// Adds a page to the record, and says whether it was the last. A store that cannot be asked is asked
/// again later; one that holds nonsense ends the replay.
fn note(kept: &mut Kept, sent: Result<Sent>, now: Time) -> Result<bool> {
    let sent = match sent {
        Ok(sent) => sent,
        Err(StoreError::Corrupt(why)) => {
            kept.error = Some(why);
            kept.ended(ReplayState::Failed, now);
            return Ok(true);
        }
        Err(error) => return Err(error),
    };
    kept.done += sent.done;
    kept.skipped += sent.skipped;
    kept.failed += sent.failed;
    if sent.next.is_none() {
        kept.ended(ReplayState::Done, now);
    }
    kept.cursor = sent.next.unwrap_or_default();
    Ok(kept.state()?.is_final())
}

fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
