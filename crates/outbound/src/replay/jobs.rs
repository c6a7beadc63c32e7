//! Making, finding and cancelling replays.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use gancho_domain::{Clock, FieldError, IdMaker, ReplayId, field_error::joined};
use gancho_store::{Expect, Shelf, Store, StoreError};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::{sync::Notify, time::Instant};

use super::{
    NewReplay, Replay, ReplayState,
    count::count,
    judge::{self, judge},
    kept::Kept,
};
use crate::{Owner, Registry};

pub(super) const KIND: &str = "replay";
/// Those that are not over yet, of all owners: what a runner looks through.
pub(super) const OPEN: Shelf = Shelf::operators("replay_open");
/// So many of one owner's are kept; the oldest that are over go first.
const MOST_KEPT: usize = 500;
/// So many of one owner's may be open.
const MOST_OPEN: usize = 10;
pub(super) const MOST_OPEN_IN_ALL: usize = 1_000;
pub(super) const TRIES: usize = 10;

pub struct Replays {
    pub(super) store: Arc<dyn Store>,
    pub(super) registry: Arc<Registry>,
    pub(super) ids: Arc<IdMaker>,
    pub(super) clock: Arc<dyn Clock>,
    /// The name under which this runner holds leases: one that no other has.
    pub(super) name: String,
    usual_rate: u32,
    /// When the next page of each job that this runner holds is due, so that it keeps to its rate.
    pub(super) due: Mutex<HashMap<ReplayId, Instant>>,
    /// Jobs of this runner of whose last page it is not known how much was sent.
    pub(super) in_doubt: Mutex<HashSet<ReplayId>>,
    pub(super) bell: Notify,
    /// Held while a page is sent and noted, so that a cancellation here comes before or after it.
    pub(super) page_lock: tokio::sync::Mutex<()>,
}

#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("there is no such replay")]
    NotFound,
    #[error("the replay is over already")]
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
        let name = ids.make::<gancho_domain::id::OfReplay>().to_string();
        let usual_rate = judge::USUAL_RATE;
        let (due, bell, page_lock) =
            (Mutex::default(), Notify::new(), tokio::sync::Mutex::default());
        let in_doubt = Mutex::default();
        Self { store, registry, ids, clock, name, usual_rate, due, in_doubt, bell, page_lock }
    }

    /// So many a second where whoever asks for a replay names no rate.
    #[must_use]
    pub fn at_rate(mut self, rate: u32) -> Self {
        self.usual_rate = rate.max(1);
        self
    }

    /// Writes the job down, to be run by any node; or, for a dry run, only counts.
    pub async fn create(
        &self,
        owner: impl Into<Owner>,
        new: NewReplay,
    ) -> Result<Replay, ReplayError> {
        let owner = owner.into();
        judge(&*self.store, owner, &new).await?;
        let (id, now) = (self.ids.make(), self.clock.now());
        let rate = new.rate.unwrap_or(self.usual_rate);
        let kept = Kept::new(id, owner.tenant(), &new, rate, now);
        let shown = kept.shown()?;
        if new.dry_run {
            let (total, is_total_exact) = count(&*self.store, owner, &shown).await?;
            let state = ReplayState::Done;
            return Ok(Replay { total, is_total_exact, state, is_dry_run: true, ..shown });
        }
        self.refuse_too_many(owner).await?;
        self.clear_old(owner).await?;
        // First that it is open, then the job: a crash between the two leaves a mark without a job,
        // which a runner removes; the other way round nobody would run the job.
        let mark = owner.tenant().map_or_else(String::new, |tenant| tenant.to_string());
        self.store.put_record(OPEN, &key(id), mark.into(), Expect::Anything).await?;
        self.store.put_record(owner.shelf(KIND), &key(id), kept.write()?, Expect::Nothing).await?;
        self.bell.notify_one();
        Ok(shown)
    }

    pub async fn get(&self, owner: impl Into<Owner>, id: ReplayId) -> Result<Replay, ReplayError> {
        let record = self.store.record(owner.into().shelf(KIND), &key(id)).await?;
        let record = record.ok_or(ReplayError::NotFound)?;
        Ok(Kept::read(&record.body)?.shown()?)
    }

    /// Newest first, from the one after `after` on.
    pub async fn list(
        &self,
        owner: impl Into<Owner>,
        after: Option<ReplayId>,
        most: usize,
    ) -> Result<Vec<Replay>, ReplayError> {
        let after = after.map(key);
        let records = self.store.records(owner.into().shelf(KIND), after.as_deref(), most).await?;
        records.iter().map(|record| Ok(Kept::read(&record.body)?.shown()?)).collect()
    }

    /// What was sent stays sent; the rest is not.
    pub async fn cancel(
        &self,
        owner: impl Into<Owner>,
        id: ReplayId,
    ) -> Result<Replay, ReplayError> {
        let place = owner.into().shelf(KIND);
        let _between_pages = self.page_lock.lock().await;
        for _ in 0..TRIES {
            let record = self.store.record(place, &key(id)).await?.ok_or(ReplayError::NotFound)?;
            let mut kept = Kept::read(&record.body)?;
            match kept.state()? {
                ReplayState::Cancelled => return Ok(kept.shown()?),
                state if state.is_final() => return Err(ReplayError::Over),
                _ => kept.ended(ReplayState::Cancelled, self.clock.now()),
            }
            let expect = Expect::Version(record.version);
            if self.store.put_record(place, &key(id), kept.write()?, expect).await?.is_some() {
                self.store.delete_record(OPEN, &key(id)).await?;
                return Ok(kept.shown()?);
            }
        }
        Err(StoreError::Unavailable("the replay kept moving on: try again".into()).into())
    }

    async fn refuse_too_many(&self, owner: Owner) -> Result<(), ReplayError> {
        let mark = owner.tenant().map_or_else(String::new, |tenant| tenant.to_string());
        let open = self.store.records(OPEN, None, MOST_OPEN_IN_ALL).await?;
        let own = open.iter().filter(|record| record.body == mark).count();
        if own >= MOST_OPEN || open.len() >= MOST_OPEN_IN_ALL {
            let message =
                format!("{own} replays are open already: wait for one to end, or cancel one");
            return Err(ReplayError::Faulty(vec![FieldError::new("too_many", "", message)]));
        }
        Ok(())
    }

    async fn clear_old(&self, owner: Owner) -> Result<(), ReplayError> {
        let place = owner.shelf(KIND);
        let records = self.store.records(place, None, 2 * MOST_KEPT).await?;
        for record in records.iter().skip(MOST_KEPT) {
            if Kept::read(&record.body)
                .and_then(|kept| kept.state())
                .is_ok_and(ReplayState::is_final)
            {
                self.store.delete_record(place, &record.key).await?;
            }
        }
        Ok(())
    }
}

/// Records are listed by key, from the least on. This turns the order of time round.
pub(super) fn key(id: ReplayId) -> String {
    ReplayId::from_bits(!id.bits()).to_string()
}

/// The id whose key this is.
pub(super) fn id_of(key: &str) -> Option<ReplayId> {
    key.parse::<ReplayId>().ok().map(|turned| ReplayId::from_bits(!turned.bits()))
}
