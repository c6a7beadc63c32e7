//! Extends live tails to all nodes: while someone watches on one node, the others forward what they do.
//!
//! Nodes communicate through the store, by small documents of the operator that expire. A node with watchers
//! writes a document in [`WATCHES`] that says what they may see. Every other node that reads it watches the
//! same on its own engine, and writes the changes to [`FEEDS`], at most twice a second. Nothing is read or
//! written while no other node is alive, and only one small read per second happens while nobody watches.
//!
//! **Bounds.** A node forwards at most [`MAX_RATE`] changes per second for each watched tenant, and fewer if
//! many are watched; the rest is counted as missed. What a feed loses because the store was unavailable is
//! not repeated.

mod record;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::Clock;
use gancho_engine::{DeliveryChange, Engine, Tail, TailInterest};
use gancho_store::{Collection, Precondition, Result, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::record::{Batch, ChangeRecord, Feed, Interest, MissedChanges};

const WATCHES: Collection = Collection::operators("tail_watch");
/// The feeds, by the number of the reader and of the writer.
const FEEDS: Collection = Collection::operators("tail_feed");

const PACE: Duration = Duration::from_millis(500);
/// How often the other nodes are counted, and a watch is written again.
const REFRESH: Duration = Duration::from_secs(5);
/// How long a watch that is not written again stays valid, by this node's own clock alone.
const STALE: Duration = Duration::from_secs(12);
/// When the store may remove a document that no node wrote again.
const TTL: Duration = Duration::from_secs(60);
/// Maximum nodes that are read.
const MAX_NODES: usize = 64;
/// Maximum different tenants and lanes of one watch. Beyond it the lanes of a tenant count as one.
const MAX_INTERESTS: usize = 32;
/// Approximate changes per second that a node forwards for all interests together: each gets a share, and
/// none displaces another.
const MAX_RATE_IN_ALL: u32 = 1_600;
/// Approximate changes per second that a node forwards for each interest.
const MAX_RATE: u32 = 50;
/// Maximum changes in a batch, and batches in a feed: a reader that is late by a second loses nothing.
const MAX_BATCH: usize = 200;
const MAX_BATCHES: usize = 4;

/// Forwards changes between the nodes of one store.
pub struct TailRelay {
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    refreshed_at: Option<Instant>,
    is_alone: bool,
    /// The content of this node's watch, and when it was written.
    watch: Option<(Vec<Interest>, Instant)>,
    /// The last batch that was read of each feed, by its key.
    read: HashMap<String, i64>,
    /// The watches of other nodes, by key.
    others: HashMap<String, RelayState>,
}

struct RelayState {
    version: u64,
    changed_at: Instant,
    /// The interests, each with the rate of its tail.
    interests: HashMap<Interest, (Tail, u32)>,
    batches: VecDeque<Batch>,
}

impl TailRelay {
    pub fn new(engine: Arc<Engine>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            engine,
            store,
            clock,
            refreshed_at: None,
            is_alone: true,
            watch: None,
            read: HashMap::new(),
            others: HashMap::new(),
        }
    }

    /// Runs until it is stopped.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut is_failing = false;
        while tokio::time::timeout(PACE, stop.cancelled()).await.is_err() {
            let result = self.round().await;
            if let Err(error) = &result
                && !is_failing
            {
                tracing::warn!(%error, "could not pass on live changes between nodes; will retry");
            }
            is_failing = result.is_err();
        }
    }

    async fn round(&mut self) -> Result<()> {
        if self.refreshed_at.is_none_or(|at| at.elapsed() >= REFRESH) {
            let nodes = self.store.nodes(MAX_NODES).await?;
            self.is_alone =
                !nodes.iter().any(|node| !node.is_dead && node.id != self.engine.node());
            self.refreshed_at = Some(Instant::now());
        }
        if self.is_alone {
            self.others.clear();
            return Ok(());
        }
        self.watch().await?;
        self.read().await?;
        self.find_watches().await?;
        self.feed().await
    }

    /// Writes what this node's watchers want to see.
    async fn watch(&mut self) -> Result<()> {
        let wanted = interests(&self.engine.tail_interests());
        let own = self.engine.node().0.to_string();
        if wanted.is_empty() {
            if self.watch.take().is_some() {
                self.store.delete_document(WATCHES, &own).await?;
            }
            return Ok(());
        }
        let is_known =
            |(said, at): &(Vec<Interest>, Instant)| *said == wanted && at.elapsed() < REFRESH;
        if self.watch.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        self.put(WATCHES, &own, record::write(&wanted)).await?;
        self.watch = Some((wanted, Instant::now()));
        Ok(())
    }

    /// Shows what other nodes have done.
    async fn read(&mut self) -> Result<()> {
        if self.watch.is_none() {
            return Ok(());
        }
        let prefix = format!("{}/", self.engine.node().0);
        let found = self.store.documents(FEEDS, Some(&prefix), MAX_NODES).await?;
        for document in found.into_iter().filter(|document| document.key.starts_with(&prefix)) {
            let Some(feed) = record::read::<Feed>(&document.body) else { continue };
            let last = self.read.get(&document.key).copied().unwrap_or(i64::MIN);
            for batch in feed.batches.into_iter().filter(|batch| batch.number > last) {
                self.read.insert(document.key.clone(), batch.number);
                for change in batch.changes.into_iter().filter_map(ChangeRecord::into_change) {
                    self.engine.show(change);
                }
                for MissedChanges { interest, count } in batch.missed {
                    let interest =
                        TailInterest { tenant: interest.tenant(), lane: interest.lane() };
                    self.engine.show_missed(interest, count);
                }
            }
        }
        Ok(())
    }

    /// Reads what the watchers of other nodes want to see, and watches it.
    async fn find_watches(&mut self) -> Result<()> {
        let own = self.engine.node().0.to_string();
        let found = self.store.documents(WATCHES, None, MAX_NODES).await?;
        self.others.retain(|key, _| found.iter().any(|document| document.key == *key));
        for document in found.into_iter().filter(|document| document.key != own) {
            let is_new = |watch: &RelayState| watch.version != document.version;
            if !self.others.get(&document.key).is_none_or(is_new) {
                continue;
            }
            let Some(wanted) = record::read::<Vec<Interest>>(&document.body) else { continue };
            let watch = self.others.entry(document.key).or_insert_with(RelayState::new);
            (watch.version, watch.changed_at) = (document.version, Instant::now());
            watch.want(&self.engine, wanted);
        }
        // An expired watch keeps its version, so that its old document does not start it again.
        for watch in self.others.values_mut().filter(|watch| watch.is_over()) {
            watch.interests.clear();
            watch.batches.clear();
        }
        Ok(())
    }

    /// Forwards what happened on this node.
    async fn feed(&mut self) -> Result<()> {
        let (own, now) = (self.engine.node().0, self.clock.now().micros());
        let mut feeds = Vec::new();
        for (reader, watch) in &mut self.others {
            if watch.collect(now) {
                let feed = Feed { batches: watch.batches.iter().cloned().collect() };
                feeds.push((format!("{reader}/{own}"), record::write(&feed)));
            }
        }
        for (key, body) in feeds {
            self.put(FEEDS, &key, body).await?;
        }
        Ok(())
    }

    async fn put(&self, collection: Collection, key: &str, body: Bytes) -> Result<()> {
        let until = self.clock.now() + TTL;
        self.store.put_document_until(collection, key, body, Precondition::Anything, until).await?;
        Ok(())
    }
}

impl RelayState {
    fn new() -> Self {
        Self {
            version: 0,
            changed_at: Instant::now(),
            interests: HashMap::new(),
            batches: VecDeque::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.changed_at.elapsed() > STALE
    }

    fn want(&mut self, engine: &Engine, wanted: Vec<Interest>) {
        let mut before = std::mem::take(&mut self.interests);
        let rate = rate_of_each(wanted.len());
        for interest in wanted {
            let same = before.remove(&interest).filter(|(_, before)| *before == rate);
            let tail = same.unwrap_or_else(|| {
                (engine.tail_for_node(interest.tenant(), interest.lane(), rate), rate)
            });
            self.interests.insert(interest, tail);
        }
    }

    /// Adds a batch of the changes since the last one. Returns whether there were any.
    fn collect(&mut self, number: i64) -> bool {
        let mut seen: HashSet<*const DeliveryChange> = HashSet::new();
        let (mut changes, mut missed) = (Vec::new(), Vec::new());
        for (interest, (tail, _)) in &self.interests {
            let batch = tail.take(MAX_BATCH);
            // Several watchers may want the same change.
            let new = batch.changes.iter().filter(|change| seen.insert(Arc::as_ptr(change)));
            changes.extend(new.map(|change| ChangeRecord::from(&**change)));
            if batch.missed > 0 {
                missed.push(MissedChanges { interest: interest.clone(), count: batch.missed });
            }
        }
        if changes.is_empty() && missed.is_empty() {
            return false;
        }
        changes.sort_by_key(|change| change.at);
        self.batches.push_back(Batch { number, changes, missed });
        while self.batches.len() > MAX_BATCHES {
            self.batches.pop_front();
        }
        true
    }
}

/// Returns what the watchers of a node want to see, without their own filters.
fn interests(watched: &[TailInterest]) -> Vec<Interest> {
    let mut wanted: Vec<_> = watched.iter().map(Interest::from).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.len() > MAX_INTERESTS {
        let of_tenant = |one: &TailInterest| Interest::from(&TailInterest { lane: None, ..*one });
        wanted = watched.iter().map(of_tenant).collect();
        wanted.sort();
        wanted.dedup();
    }
    wanted
}

/// Returns the changes per second of each interest.
fn rate_of_each(interests: usize) -> u32 {
    (MAX_RATE_IN_ALL / interests.max(1) as u32).clamp(1, MAX_RATE)
}

#[cfg(test)]
mod tests {
    use gancho_domain::{Lane, TenantId};

    use super::*;

    #[test]
    fn each_tenant_that_is_watched_is_an_interest_however_many_there_are() {
        let watched = |tenants: u128| -> Vec<TailInterest> {
            let of = |tenant| {
                [Lane::Webhook, Lane::Email].map(|lane| TailInterest {
                    tenant: Some(TenantId::from_bits(tenant)),
                    lane: Some(lane),
                })
            };
            (0..tenants).flat_map(of).collect()
        };
        assert_eq!(interests(&watched(16)).len(), 32, "by lane");
        let many = interests(&watched(1_000));
        assert_eq!(many.len(), 1_000);
        assert!(many.iter().all(|one| one.tenant().is_some() && one.lane().is_none()));
        assert_eq!([1, 32, 64, 10_000].map(rate_of_each), [50, 50, 25, 1]);
    }
}
