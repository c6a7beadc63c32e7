//! The arithmetic of fairness between tenants, and between other owners that share a bounded resource.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, hash_map::Entry},
    hash::Hash,
};

use crate::IdMap;

/// Maximum number of deliveries of one tenant in a row while others wait.
pub const TURN: u32 = 3;

/// Returns the priority of a tenant: 5 if it was just served, down to 1 (most urgent) if it waited four
/// rounds.
pub const fn priority(rounds_waited: u64) -> u8 {
    if rounds_waited >= 4 { 1 } else { 5 - rounds_waited as u8 }
}

/// Tracks which owner holds how many entries of a bounded table. When the table is full, the owner with the
/// most entries gives one back. So no owner exceeds its share, however many entries it asks for and however
/// many owners there are.
#[derive(Debug, Clone)]
pub struct Holdings<K> {
    /// The number of entries of each owner, and when it last changed.
    owners: IdMap<K, (usize, u64)>,
    by_count: BTreeMap<(usize, Reverse<u64>), K>,
    changes: u64,
}

impl<K> Default for Holdings<K> {
    fn default() -> Self {
        Self { owners: IdMap::default(), by_count: BTreeMap::new(), changes: 0 }
    }
}

impl<K: Copy + Eq + Hash> Holdings<K> {
    pub fn add(&mut self, owner: K) {
        self.set(owner, self.count(owner) + 1);
    }

    pub fn remove(&mut self, owner: K) {
        self.set(owner, self.count(owner).saturating_sub(1));
    }

    pub fn count(&self, owner: K) -> usize {
        self.owners.get(&owner).map_or(0, |(count, _)| *count)
    }

    /// Returns the owners, those with the most entries first. Among equals the one whose count has not
    /// changed for longest comes first.
    pub fn by_most(&self) -> impl Iterator<Item = K> {
        self.by_count.values().rev().copied()
    }

    pub fn largest(&self) -> Option<K> {
        self.by_most().next()
    }

    fn set(&mut self, owner: K, count: usize) {
        self.changes += 1;
        let place = (count, self.changes);
        let before = if count == 0 {
            self.owners.remove(&owner)
        } else {
            self.by_count.insert((count, Reverse(self.changes)), owner);
            self.owners.insert(owner, place)
        };
        if let Some((count, change)) = before {
            self.by_count.remove(&(count, Reverse(change)));
        }
    }
}

/// Slots that are handed out again in every period.
///
/// An owner may take a slot while it holds less than half of what the others leave, and less than an equal
/// part of what those who asked in the last period may have. So owners that ask late still get some; in a
/// crowd, from its second period on.
#[derive(Debug, Clone)]
pub struct PeriodShares<K> {
    max: usize,
    taken: usize,
    held: IdMap<K, usize>,
    owners_before: usize,
}

impl<K: Eq + Hash> PeriodShares<K> {
    pub fn new(max: usize) -> Self {
        Self::after(0, max)
    }

    /// Starts a period. `owners_before` is the number of owners that asked in the period before.
    pub fn after(owners_before: usize, max: usize) -> Self {
        Self { max, taken: 0, held: IdMap::default(), owners_before }
    }

    /// Returns the number of owners that have asked in this period.
    pub fn owners(&self) -> usize {
        self.held.len()
    }

    pub fn take(&mut self, owner: K) -> bool {
        let (free, owners) = (self.max.saturating_sub(self.taken), self.held.len());
        let held = match self.held.entry(owner) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(place) if owners < self.max => place.insert(0),
            Entry::Vacant(_) => return false,
        };
        // One part more than there are owners, for the next one to ask.
        let part = self.max / (owners.max(self.owners_before) + 1);
        let may = *held < free && *held < part.max(1);
        *held += usize::from(may);
        self.taken += usize::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_that_holds_most_comes_first() {
        let mut holdings = Holdings::default();
        for owner in ['a', 'b', 'b', 'c', 'b', 'c'] {
            holdings.add(owner);
        }
        assert_eq!(holdings.by_most().collect::<String>(), "bca");
        holdings.remove('b');
        assert_eq!(holdings.by_most().collect::<String>(), "cba", "c has held two for longer");
        for owner in ['b', 'b', 'a', 'a'] {
            holdings.remove(owner);
        }
        assert_eq!((holdings.by_most().collect::<String>(), holdings.count('b')), ("c".into(), 0));
        assert_eq!(holdings.owners.len(), holdings.by_count.len());
    }

    #[test]
    fn one_who_asks_for_everything_leaves_half() {
        let mut shares = PeriodShares::new(100);
        assert_eq!((0..1_000).filter(|_| shares.take('a')).count(), 50);
        assert_eq!((0..1_000).filter(|_| shares.take('b')).count(), 25);
        assert!(shares.take('c'));
    }

    #[test]
    fn a_crowd_leaves_something_from_its_second_period_on() {
        let mut shares = PeriodShares::new(100);
        let take = |shares: &mut PeriodShares<u32>| -> Vec<usize> {
            (0..20).map(|owner| (0..50).filter(|_| shares.take(owner)).count()).collect()
        };
        assert_eq!(take(&mut shares).last(), Some(&0));
        let mut shares = PeriodShares::after(shares.owners(), 100);
        assert_eq!(take(&mut shares), [4; 20]);
        assert!(shares.take(99), "one that comes last");
    }

    #[test]
    fn more_owners_than_places_are_no_more_than_the_places() {
        let mut shares = PeriodShares::new(10);
        for _ in 0..3 {
            assert_eq!((0..1_000).filter(|owner| shares.take(*owner)).count(), 10);
            assert!(shares.held.len() <= 10);
            shares = PeriodShares::after(shares.owners(), 10);
        }
    }

    #[test]
    fn waiting_makes_urgent() {
        let by_rounds: Vec<u8> = (0..7).map(priority).collect();
        assert_eq!(by_rounds, [5, 4, 3, 2, 1, 1, 1]);
    }
}
