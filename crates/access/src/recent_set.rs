//! A lossy set of values seen before, in a fixed amount of memory. It may forget values, and reports an
//! unknown value as seen with a probability of 1 in 2^64. Use it for priority under load, never for access.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

const SLOTS: usize = 4_096;

pub struct RecentSet {
    hasher: RandomState,
    slots: Box<[AtomicU64]>,
}

impl Default for RecentSet {
    fn default() -> Self {
        let slots = std::iter::repeat_with(AtomicU64::default).take(SLOTS).collect();
        Self { hasher: RandomState::new(), slots }
    }
}

impl RecentSet {
    pub fn insert(&self, what: &impl Hash) {
        let (slot, mark) = self.slot(what);
        // Usually the value is present, and not writing it again keeps the cache line shared.
        if slot.load(Ordering::Relaxed) != mark {
            slot.store(mark, Ordering::Relaxed);
        }
    }

    pub fn contains(&self, what: &impl Hash) -> bool {
        let (slot, mark) = self.slot(what);
        slot.load(Ordering::Relaxed) == mark
    }

    fn slot(&self, what: &impl Hash) -> (&AtomicU64, u64) {
        // Zero is an empty slot.
        let mark = self.hasher.hash_one(what).max(1);
        (&self.slots[mark as usize % SLOTS], mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_what_it_saw_and_no_more() {
        let set = RecentSet::default();
        assert!(!set.contains(&"ana"));
        set.insert(&"ana");
        assert!(set.contains(&"ana") && !set.contains(&"ann"));
        (0..100_000).for_each(|number| set.insert(&number));
        assert!(set.contains(&99_999));
        let remembered = (0..100_000).filter(|number| set.contains(number)).count();
        assert!(remembered <= SLOTS, "{remembered}");
    }
}
