//! Values that all open pages share and that are read again after a while.

use std::{borrow::Borrow, collections::HashMap, hash::Hash, time::Duration};

use gancho_domain::Time;
use parking_lot::Mutex;

/// How long a value that has changed is still shown.
const TTL: Duration = Duration::from_secs(10);
const MAX_ENTRIES: usize = 10_000;

pub struct TimedCache<K, V>(Mutex<HashMap<K, (V, Time)>>);

impl<K, V> Default for TimedCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> TimedCache<K, V> {
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q, now: Time) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entries = self.0.lock();
        let (value, at) = entries.get(key)?;
        (now.since(*at) < TTL).then(|| value.clone())
    }

    pub fn put(&self, key: K, value: V, now: Time) {
        let mut entries = self.0.lock();
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        entries.insert(key, (value, now));
    }
}
