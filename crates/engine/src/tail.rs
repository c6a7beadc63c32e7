//! Shows changes of deliveries to watchers as they happen.
//!
//! Each watcher has its own queue of the changes that its filter lets through: a busy tenant never displaces
//! the changes for another tenant's watcher, and the count of missed changes says nothing about other
//! tenants.
//!
//! **Bounds.** Without a watcher a change costs one load of an atomic; with watchers of other tenants it
//! costs one look-up, however many there are. A change is built once, if at least one watcher may want it.
//! Publishing never waits: a full queue drops its oldest change and counts it. A queue has at most
//! [`MAX_QUEUED`] changes, and fewer if there are many watchers, because all queues share
//! [`MAX_QUEUED_IN_ALL`].

mod change;
mod sampler;

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use gancho_domain::{Lane, Pattern, Status, TenantId, TenantScope};
use gancho_store::TargetId;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

pub use self::change::DeliveryChange;
pub(crate) use self::change::{accepted, settled};
use self::sampler::Sampler;

/// Maximum changes that wait for one watcher.
const MAX_QUEUED: usize = 1_024;
/// Maximum changes that wait for all watchers together. Each watcher may always have [`MIN_QUEUED`].
const MAX_QUEUED_IN_ALL: usize = 32_768;
const MIN_QUEUED: usize = 16;

/// Which changes a watcher sees.
#[derive(Debug, Clone, Default)]
pub struct TailFilter {
    /// Only changes of this tenant. `None` is for the operator alone.
    pub scope: Option<TenantScope>,
    pub lane: Option<Lane>,
    pub target: Option<TargetId>,
    /// Only changes of events whose type matches.
    pub event_type: Option<Pattern>,
    /// Only changes after which the delivery has this status.
    pub status: Option<Status>,
    /// Maximum changes per second, approximately. Beyond it, the watcher sees a sample of the deliveries; the
    /// rest is counted as missed.
    pub max_rate: Option<u32>,
    /// Only what this node does. Set by watchers that report to other nodes.
    pub is_local: bool,
}

/// The deliveries that a watcher may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailInterest {
    pub tenant: Option<TenantId>,
    pub lane: Option<Lane>,
}

impl TailFilter {
    fn interest(&self) -> TailInterest {
        TailInterest { tenant: self.scope.map(TenantScope::tenant), lane: self.lane }
    }

    fn may_admit(&self, tenant: TenantId, lane: Lane) -> bool {
        self.scope.is_none_or(|scope| scope.tenant() == tenant)
            && self.lane.is_none_or(|only| only == lane)
    }

    fn admits(&self, change: &DeliveryChange) -> bool {
        let row = &change.row;
        self.may_admit(change.tenant, row.lane)
            && self.target.is_none_or(|target| target == row.target)
            && self.status.is_none_or(|status| status == row.status())
            && self.event_type.as_ref().is_none_or(|pattern| pattern.matches(&row.event_type))
    }
}

/// The watchers of an engine.
#[derive(Default)]
pub(crate) struct Tails {
    /// The number of watchers. Read without the lock.
    count: AtomicUsize,
    watchers: RwLock<Watchers>,
}

#[derive(Default)]
struct Watchers {
    of_all: Vec<Arc<Watcher>>,
    of_tenant: HashMap<TenantId, Vec<Arc<Watcher>>>,
}

impl Watchers {
    /// Returns the watchers that may see a tenant's deliveries.
    fn of(&self, tenant: TenantId) -> impl Iterator<Item = &Arc<Watcher>> {
        self.of_all.iter().chain(self.of_tenant.get(&tenant).into_iter().flatten())
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Watcher>> {
        self.of_all.iter().chain(self.of_tenant.values().flatten())
    }

    fn add(&mut self, watcher: Arc<Watcher>) {
        match watcher.filter.scope {
            Some(scope) => self.of_tenant.entry(scope.tenant()).or_default().push(watcher),
            None => self.of_all.push(watcher),
        }
    }

    fn remove(&mut self, watcher: &Arc<Watcher>) {
        let is_other = |one: &Arc<Watcher>| !Arc::ptr_eq(one, watcher);
        let Some(scope) = watcher.filter.scope else { return self.of_all.retain(is_other) };
        if let Entry::Occupied(mut entry) = self.of_tenant.entry(scope.tenant()) {
            entry.get_mut().retain(is_other);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }
}

struct Watcher {
    filter: TailFilter,
    queue: Mutex<Queue>,
    bell: Notify,
}

#[derive(Default)]
struct Queue {
    changes: VecDeque<Arc<DeliveryChange>>,
    missed: u64,
    sampler: Option<Sampler>,
}

impl Tails {
    /// Whether anyone watches a tenant's deliveries in a lane. Called before a change is built.
    pub fn are_watching(&self, tenant: TenantId, lane: Lane) -> bool {
        self.count.load(Ordering::Relaxed) > 0
            && self.watchers.read().of(tenant).any(|watcher| watcher.filter.may_admit(tenant, lane))
    }

    pub fn publish(&self, change: DeliveryChange) {
        self.push(change, |_| true);
    }

    /// Shows a change of another node.
    pub fn show(&self, change: DeliveryChange) {
        self.push(change, |watcher| !watcher.filter.is_local);
    }

    fn push(&self, change: DeliveryChange, is_asked: impl Fn(&Watcher) -> bool) {
        let (change, now) = (Arc::new(change), Instant::now());
        let share = MAX_QUEUED_IN_ALL / self.count.load(Ordering::Relaxed).max(1);
        let max = share.clamp(MIN_QUEUED, MAX_QUEUED);
        let watchers = self.watchers.read();
        let watching = watchers.of(change.tenant).filter(|watcher| is_asked(watcher));
        for watcher in watching.filter(|watcher| watcher.filter.admits(&change)) {
            watcher.push(&change, max, now);
        }
    }

    /// Counts changes that another node has dropped, for the watchers that asked for them.
    pub fn show_missed(&self, interest: TailInterest, count: u64) {
        for watcher in self.watchers.read().all() {
            if watcher.filter.interest() == interest && !watcher.filter.is_local {
                watcher.queue.lock().missed += count;
            }
        }
    }

    /// Returns what is watched here, except by other nodes.
    pub fn interests(&self) -> Vec<TailInterest> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let watchers = self.watchers.read();
        let here = watchers.all().filter(|watcher| !watcher.filter.is_local);
        here.map(|watcher| watcher.filter.interest()).collect()
    }

    pub fn watch(self: &Arc<Self>, filter: TailFilter) -> Tail {
        let queue = Queue { sampler: filter.max_rate.map(Sampler::new), ..Queue::default() };
        let watcher = Arc::new(Watcher { filter, queue: Mutex::new(queue), bell: Notify::new() });
        self.watchers.write().add(watcher.clone());
        self.count.fetch_add(1, Ordering::Relaxed);
        Tail { tails: self.clone(), watcher }
    }
}

impl Watcher {
    fn push(&self, change: &Arc<DeliveryChange>, max: usize, now: Instant) {
        let mut queue = self.queue.lock();
        let sampler = queue.sampler.as_mut();
        if sampler.is_some_and(|sampler| !sampler.admits(change.row.id, now)) {
            queue.missed += 1;
            return;
        }
        while queue.changes.len() >= max {
            queue.changes.pop_front();
            queue.missed += 1;
        }
        queue.changes.push_back(change.clone());
        drop(queue);
        self.bell.notify_one();
    }
}

/// The changes that one watcher sees. Dropping it ends the watch.
pub struct Tail {
    tails: Arc<Tails>,
    watcher: Arc<Watcher>,
}

/// The changes since the last read.
#[derive(Debug, Default)]
pub struct TailBatch {
    /// How many changes were dropped before these, because the watcher was too slow or asked for a sample.
    pub missed: u64,
    /// Oldest first.
    pub changes: Vec<Arc<DeliveryChange>>,
}

impl Tail {
    /// Waits until something happens, and returns at most `max` changes. Can be canceled without losing any.
    pub async fn next(&self, max: usize) -> TailBatch {
        loop {
            // Registered before the queue is read, so that no change is missed in between.
            let rung = self.watcher.bell.notified();
            let batch = self.take(max);
            if !batch.changes.is_empty() {
                return batch;
            }
            rung.await;
        }
    }

    /// Returns the changes that are queued now.
    pub fn take(&self, max: usize) -> TailBatch {
        let mut queue = self.watcher.queue.lock();
        let count = queue.changes.len().min(max);
        TailBatch {
            missed: std::mem::take(&mut queue.missed),
            changes: queue.changes.drain(..count).collect(),
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.tails.watchers.write().remove(&self.watcher);
        self.tails.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
