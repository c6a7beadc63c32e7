//! Reads that several callers share: one leads, the others follow and get the same outcome.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::Changes;
use crate::Result;

type Outcome<V> = Option<Result<Arc<V>>>;

pub(super) struct SharedReads<K, V>(Mutex<HashMap<K, PendingRead<V>>>);

struct PendingRead<V> {
    /// As it was when the read began.
    changes: Changes,
    outcome: watch::Receiver<Outcome<V>>,
}

pub(super) enum ReadRole<'a, K: Eq + Hash + Copy, V> {
    Leader(Leader<'a, K, V>),
    Follower(Follower<V>),
}

/// Reads for all. When it goes away without an outcome, the next caller leads.
pub(super) struct Leader<'a, K: Eq + Hash + Copy, V> {
    reads: &'a SharedReads<K, V>,
    key: K,
    outcome: watch::Sender<Outcome<V>>,
}

pub(super) struct Follower<V>(watch::Receiver<Outcome<V>>);

impl<K, V> Default for SharedReads<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Copy, V> SharedReads<K, V> {
    /// Joins the read that is under way, unless something was changed since it began.
    pub fn join(&self, key: K, changes: Changes) -> ReadRole<'_, K, V> {
        let mut all = self.0.lock();
        if let Some(one) = all.get(&key)
            && one.changes == changes
            && one.outcome.has_changed().is_ok()
        {
            return ReadRole::Follower(Follower(one.outcome.clone()));
        }
        let (outcome, told) = watch::channel(None);
        all.insert(key, PendingRead { changes, outcome: told });
        ReadRole::Leader(Leader { reads: self, key, outcome })
    }
}

impl<K: Eq + Hash + Copy, V> Leader<'_, K, V> {
    pub fn finish(self, outcome: Result<Arc<V>>) {
        self.outcome.send_replace(Some(outcome));
    }
}

impl<K: Eq + Hash + Copy, V> Drop for Leader<'_, K, V> {
    fn drop(&mut self) {
        let mut all = self.reads.0.lock();
        // A later read, begun after a change, may be in its place.
        let is_own = |one: &PendingRead<V>| self.outcome.subscribe().same_channel(&one.outcome);
        if all.get(&self.key).is_some_and(is_own) {
            all.remove(&self.key);
        }
    }
}

impl<V> Follower<V> {
    /// `None` if the leader went away.
    pub async fn outcome(&mut self) -> Outcome<V> {
        let outcome = self.0.wait_for(Option::is_some).await.ok()?;
        outcome.clone()
    }
}
