//! A read-through cache over the store, with a lifetime of a few seconds.
//!
//! A change made on another node is seen within that time, a change made here at once. Of concurrent
//! callers one reads (single-flight, against a cache stampede): if there is a stale entry, the others use it; if the entry was changed here or
//! there is none, they wait for that read. So a busy tenant costs one read per interval, however many
//! publish for it. If the store is unavailable, stale entries are used. A
//! [strict](CachePolicy::is_strict) cache never uses a stale entry.
//!
//! An entry of one tenant that is changed here all the time is read for a tenth of the time at most ([`pace`]): who changes
//! one of ten thousand endpoints before each event waits for it, and nobody else does.

mod pace;
mod shared_read;

use std::{
    future::Future,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use gancho_domain::IdMap;
use parking_lot::{Mutex, RwLock};
use tokio::time::{Instant, sleep_until};

use self::{
    pace::Pace,
    shared_read::{ReadRole, SharedReads},
};
use crate::Result;

const LATELY: Duration = Duration::from_secs(60);

/// How a cache keeps its entries.
#[derive(Debug, Clone, Copy)]
pub struct CachePolicy {
    /// How long another node's change may go unseen.
    pub ttl: Duration,
    /// With more entries than this, those not read for a minute are evicted.
    pub max_entries: usize,
    /// For security decisions: an entry older than `ttl` is never used, not even while the store is
    /// unavailable; and as strangers may choose the keys, there are never more than `max_entries`.
    pub is_strict: bool,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self { ttl: Duration::from_secs(2), max_entries: 10_000, is_strict: false }
    }
}

pub struct ReadCache<K: Eq + Hash + Copy, V> {
    policy: CachePolicy,
    known: RwLock<IdMap<K, Entry<V>>>,
    /// Rises with every change made here of something that was not known.
    changes: AtomicU64,
    /// The last of the numbers that entries got.
    stamps: AtomicU64,
    /// Whether a value says that there is nothing under its key.
    is_absent: fn(&V) -> bool,
    /// Whether only one tenant uses the entry under a key: it alone waits for the pace.
    is_paced: fn(&K) -> bool,
    /// Entries for whose values `is_absent` returns true. Changed with `known` locked.
    absent: AtomicUsize,
    /// When entries of those present, and of those absent, were last looked through for some to evict.
    made_room_at: Mutex<[Option<Instant>; 2]>,
    /// Reads under way that others wait for.
    reads: SharedReads<K, V>,
}

struct Entry<V> {
    value: Arc<V>,
    read_at: Instant,
    /// A new number after each change made here and each read. No two entries ever have the same: an entry
    /// that was evicted and read again is not mistaken for the one before.
    stamp: u64,
    /// It was changed since it was read, and must be read before it is used again.
    is_outdated: bool,
    is_absent: bool,
    pace: Pace,
}

impl<V> Entry<V> {
    fn is_fresh(&self, ttl: Duration) -> bool {
        !self.is_outdated && self.read_at.elapsed() < ttl
    }
}

/// Two of these that are equal: nothing was changed here in between. A change of something that is not
/// known counts for all that are not.
type Changes = (bool, u64);

/// How a cached entry may be used.
enum CacheLookup<V> {
    Trust(Arc<V>),
    /// It is old: this caller reads it, the others go on with it.
    Refresh(Arc<V>),
    /// It must be read before it is used; this is what was known.
    Ask(Option<Arc<V>>),
}

impl<K: Eq + Hash + Copy, V> Default for ReadCache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash + Copy, V> ReadCache<K, V> {
    pub fn new() -> Self {
        Self::with(CachePolicy::default())
    }

    pub fn with(policy: CachePolicy) -> Self {
        Self {
            policy,
            known: RwLock::default(),
            changes: AtomicU64::new(0),
            stamps: AtomicU64::new(0),
            is_absent: |_| false,
            is_paced: |_| false,
            absent: AtomicUsize::new(0),
            made_room_at: Mutex::default(),
            reads: SharedReads::default(),
        }
    }

    /// Values for which `is_absent` returns true, and the others, each have `max_entries`: those who ask for what does not
    /// exist evict nothing that does.
    #[must_use]
    pub fn with_absent(self, is_absent: fn(&V) -> bool) -> Self {
        Self { is_absent, ..self }
    }

    /// Entries for whose keys `is_paced` returns true are read less often when they are changed all the time. Only for those
    /// that nobody else waits for.
    #[must_use]
    pub fn with_pace(self, is_paced: fn(&K) -> bool) -> Self {
        Self { is_paced, ..self }
    }

    /// Returns the cached value or else the result of `read`, which gets the previous value and may return
    /// it.
    pub async fn get<F>(&self, key: K, read: impl FnOnce(Option<Arc<V>>) -> F) -> Result<Arc<V>>
    where
        F: Future<Output = Result<Arc<V>>>,
    {
        match self.usable(key) {
            CacheLookup::Trust(value) => Ok(value),
            // Boxed, so that the futures of all callers stay small: few of them read.
            CacheLookup::Refresh(before) => Ok(Box::pin(self.refresh(key, before, read)).await),
            CacheLookup::Ask(before) => {
                let read = Box::pin(self.ask_together(key, before.clone(), read)).await;
                read.or_else(|error| before.filter(|_| !self.policy.is_strict).ok_or(error))
            }
        }
    }

    async fn refresh<F>(
        &self,
        key: K,
        before: Arc<V>,
        read: impl FnOnce(Option<Arc<V>>) -> F,
    ) -> Arc<V>
    where
        F: Future<Output = Result<Arc<V>>>,
    {
        let changes = self.changes_of(key);
        self.ask(key, changes, read(Some(before.clone()))).await.unwrap_or(before)
    }

    /// Whether the cached value can be used as it is.
    pub fn is_fresh(&self, key: K) -> bool {
        self.known.read().get(&key).is_some_and(|entry| entry.is_fresh(self.policy.ttl))
    }

    /// Returns the cached value, however old.
    pub fn peek(&self, key: K) -> Option<Arc<V>> {
        self.known.read().get(&key).map(|entry| entry.value.clone())
    }

    /// Notes a change made here: calls from now on get a value read from now on.
    pub fn forget(&self, key: K) {
        match self.known.write().get_mut(&key) {
            Some(entry) => {
                entry.is_outdated = true;
                entry.stamp = self.next_stamp();
            }
            None => {
                self.changes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn next_stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn changes_of(&self, key: K) -> Changes {
        self.changes(&self.known.read(), key)
    }

    fn changes(&self, known: &IdMap<K, Entry<V>>, key: K) -> Changes {
        match known.get(&key) {
            Some(entry) => (true, entry.stamp),
            None => (false, self.changes.load(Ordering::Relaxed)),
        }
    }

    fn usable(&self, key: K) -> CacheLookup<V> {
        let CachePolicy { ttl, is_strict, .. } = self.policy;
        match self.known.read().get(&key) {
            None => return CacheLookup::Ask(None),
            Some(entry) if entry.is_outdated => return CacheLookup::Ask(Some(entry.value.clone())),
            Some(entry) if entry.is_fresh(ttl) => return CacheLookup::Trust(entry.value.clone()),
            Some(entry) if is_strict => return CacheLookup::Ask(Some(entry.value.clone())),
            Some(_) => {}
        }
        // The first caller after the interval reads: it resets the time, so that the others do not.
        match self.known.write().get_mut(&key) {
            Some(entry) if entry.is_outdated => CacheLookup::Ask(Some(entry.value.clone())),
            Some(entry) if entry.is_fresh(ttl) => CacheLookup::Trust(entry.value.clone()),
            Some(entry) => {
                entry.read_at = Instant::now();
                CacheLookup::Refresh(entry.value.clone())
            }
            None => CacheLookup::Ask(None),
        }
    }

    /// Reads, or joins a read in progress. A read that began before a change is not joined.
    async fn ask_together<F>(
        &self,
        key: K,
        before: Option<Arc<V>>,
        read: impl FnOnce(Option<Arc<V>>) -> F,
    ) -> Result<Arc<V>>
    where
        F: Future<Output = Result<Arc<V>>>,
    {
        loop {
            let changes = self.changes_of(key);
            match self.reads.join(key, changes) {
                ReadRole::Leader(leader) => {
                    if !self.wait_for_pace(key, changes).await {
                        continue;
                    }
                    let outcome = self.ask(key, changes, read(before)).await;
                    leader.finish(outcome.clone());
                    return outcome;
                }
                ReadRole::Follower(mut follower) => {
                    // Nothing comes where the leader has gone away: then another reads.
                    if let Some(outcome) = follower.outcome().await {
                        return outcome;
                    }
                }
            }
        }
    }

    async fn ask(
        &self,
        key: K,
        before: Changes,
        read: impl Future<Output = Result<Arc<V>>>,
    ) -> Result<Arc<V>> {
        let began = Instant::now();
        let value = read.await?;
        let mut known = self.known.write();
        let pace = Pace::after(began.elapsed());
        // A value read before a change is not used after it.
        let is_outdated = self.changes(&known, key) != before;
        if let Some(entry) = known.get_mut(&key).filter(|_| is_outdated) {
            entry.pace = pace;
            // Newer than what was known, for those who cannot ask.
            if entry.is_outdated && entry.is_absent == (self.is_absent)(&value) {
                entry.value = value.clone();
            }
            return Ok(value);
        }
        let is_absent = (self.is_absent)(&value);
        self.make_room(&mut known, is_absent);
        let (read_at, stamp) = (Instant::now(), self.next_stamp());
        let entry = Entry { value: value.clone(), read_at, stamp, is_outdated, is_absent, pace };
        let before = known.insert(key, entry);
        self.absent.fetch_add(usize::from(is_absent), Ordering::Relaxed);
        let was_absent = before.is_some_and(|before| before.is_absent);
        self.absent.fetch_sub(usize::from(was_absent), Ordering::Relaxed);
        Ok(value)
    }

    /// Waits until a changed entry may be read again. Returns false if it was changed meanwhile: the caller after that change reads
    /// for all.
    async fn wait_for_pace(&self, key: K, changes: Changes) -> bool {
        loop {
            let until = {
                let mut known = self.known.write();
                match known.get_mut(&key).filter(|entry| entry.is_outdated) {
                    Some(entry) if (true, entry.stamp) != changes => return false,
                    Some(entry) if (self.is_paced)(&key) => entry.pace.reserve(),
                    _ => None,
                }
            };
            let Some(until) = until else { return true };
            sleep_until(until).await;
        }
    }

    /// Among values of one kind. Where all were read lately, only time changes that, so not each call looks through them.
    fn make_room(&self, known: &mut IdMap<K, Entry<V>>, is_absent: bool) {
        let CachePolicy { max_entries, is_strict, .. } = self.policy;
        let absent = self.absent.load(Ordering::Relaxed);
        let count = if is_absent { absent } else { known.len() - absent };
        let made_room_at = &mut self.made_room_at.lock()[usize::from(is_absent)];
        let is_recent = made_room_at.is_some_and(|at| at.elapsed() < LATELY / 20);
        if count < max_entries || (is_recent && !is_strict) {
            return;
        }
        *made_room_at = Some(Instant::now());
        let keeps = |entry: &Entry<V>| !is_strict && entry.read_at.elapsed() < LATELY;
        known.retain(|_, entry| entry.is_absent != is_absent || keeps(entry));
        let absent = known.values().filter(|entry| entry.is_absent).count();
        self.absent.store(absent, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
