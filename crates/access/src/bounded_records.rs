//! Records of a limited number, by address or a similar key. Unauthenticated callers choose the keys, so
//! beyond the limit new keys share one record, or have none.

use std::{collections::HashMap, hash::Hash, time::Duration};

use tokio::time::Instant;

const MAX_RECORDS: usize = 10_000;

pub struct BoundedRecords<K, V> {
    /// The record of all others is under `None`.
    records: HashMap<Option<K>, V>,
    sweep_interval: Duration,
    swept_at: Option<Instant>,
}

impl<K: Copy + Eq + Hash, V> BoundedRecords<K, V> {
    /// If there are too many, those no longer needed are removed, at most once per interval.
    pub fn new(sweep_interval: Duration) -> Self {
        Self { records: HashMap::new(), sweep_interval, swept_at: None }
    }

    /// Returns the record of the key, not the one that keys share.
    pub fn own_mut(&mut self, key: K) -> Option<&mut V> {
        self.records.get_mut(&Some(key))
    }

    pub fn get_or_insert(
        &mut self,
        key: K,
        now: Instant,
        is_needed: impl FnMut(&mut V) -> bool,
        new: V,
    ) -> &mut V {
        self.make_room(now, is_needed);
        let slot = Some(key).filter(|_| self.has_room(key));
        self.records.entry(slot).or_insert(new)
    }

    /// As [`Self::get_or_insert`]; `None` instead of the record that keys share.
    pub fn own_or_insert(
        &mut self,
        key: K,
        now: Instant,
        is_needed: impl FnMut(&mut V) -> bool,
        new: V,
    ) -> Option<&mut V> {
        self.make_room(now, is_needed);
        self.has_room(key).then(|| self.records.entry(Some(key)).or_insert(new))
    }

    fn make_room(&mut self, now: Instant, mut is_needed: impl FnMut(&mut V) -> bool) {
        let is_swept = self.swept_at.is_some_and(|at| now.duration_since(at) < self.sweep_interval);
        if self.records.len() >= MAX_RECORDS && !is_swept {
            self.swept_at = Some(now);
            self.records.retain(|_, record| is_needed(record));
        }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn has_room(&self, key: K) -> bool {
        self.records.len() < MAX_RECORDS || self.records.contains_key(&Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    fn count(records: &mut BoundedRecords<u32, u32>, key: u32) -> u32 {
        let record = records.get_or_insert(key, Instant::now(), |count| *count > 1, 0);
        *record += 1;
        *record
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_the_limit_new_keys_share_a_record() {
        let mut records = BoundedRecords::new(INTERVAL);
        let last = MAX_RECORDS as u32 - 1;
        for key in 0..last {
            assert_eq!(count(&mut records, key), 1);
        }
        assert_eq!(count(&mut records, 5), 2);
        assert_eq!(count(&mut records, last), 1);
        // Only the record that is needed stays.
        assert_eq!(count(&mut records, 20_000), 1);
        assert_eq!((records.len(), records.own_mut(5)), (2, Some(&mut 2)));
        for key in 0..2 * MAX_RECORDS as u32 {
            count(&mut records, key);
        }
        assert_eq!(records.len(), MAX_RECORDS + 1);
        assert!(count(&mut records, 90_000) > 1_000, "it has no record of its own");
        assert_eq!(count(&mut records, 5), 4, "it has kept its record");
        assert_eq!(records.own_mut(90_000), None);
        let other = records.own_or_insert(90_001, Instant::now(), |_| true, 0);
        assert_eq!(other, None, "it gets none of its own");
        tokio::time::advance(INTERVAL).await;
        assert_eq!(count(&mut records, 90_000), 1);
    }
}
