//! Shares of something bounded, which owners hold for as long as they need it.
//!
//! An owner may hold half of what the others leave, or an equal part if that is more. A part of it all goes
//! only to owners that hold little, so that a few that take what they can get do not keep the next one out.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// One part in this number is left to owners that hold less than what is free.
const RESERVE: usize = 16;

pub struct FairShares<K> {
    max: usize,
    taken: usize,
    held: HashMap<K, usize>,
}

impl<K: Eq + Hash> FairShares<K> {
    pub fn new(max: usize) -> Self {
        Self { max, taken: 0, held: HashMap::new() }
    }

    pub fn set_max(&mut self, max: usize) {
        self.max = max;
    }

    /// Counts `amount` for the owner, and returns whether it may have it. An owner that holds nothing always
    /// may.
    pub fn take(&mut self, owner: K, amount: usize) -> bool {
        let free = self.max.saturating_sub(self.taken + amount);
        let own = self.held(&owner);
        // One part more than there are owners, for the next one.
        let part = self.max / (self.held.len() + 1);
        let is_half = own + amount <= free;
        let is_part = own + amount <= part && free >= self.max / RESERVE;
        let may = own == 0 || is_half || is_part;
        if may {
            self.taken += amount;
            *self.held.entry(owner).or_default() += amount;
        }
        may
    }

    pub fn held<Q>(&self, owner: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.held.get(owner).copied().unwrap_or(0)
    }

    pub fn give_back(&mut self, owner: &K, amount: usize) {
        let Some(own) = self.held.get_mut(owner) else { return };
        *own = own.saturating_sub(amount);
        self.taken = self.taken.saturating_sub(amount);
        if *own == 0 {
            self.held.remove(owner);
        }
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.taken == 0 && self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(shares: &mut FairShares<u32>, owner: u32) -> usize {
        (0..10_000).filter(|_| shares.take(owner, 1)).count()
    }

    #[test]
    fn one_owner_leaves_half_and_a_few_leave_some() {
        let mut shares = FairShares::new(4_096);
        assert_eq!(all_of(&mut shares, 1), 2_048);
        assert_eq!(
            all_of(&mut shares, 2),
            1_365,
            "an equal part, which is more than half of the rest"
        );
        for owner in 3..8 {
            all_of(&mut shares, owner);
        }
        assert!(all_of(&mut shares, 100) > 0);
        assert!(shares.taken < 4_096, "{}", shares.taken);
        shares.give_back(&1, 2_048);
        assert!(all_of(&mut shares, 100) > 100);
    }

    #[test]
    fn one_that_holds_nothing_is_never_refused() {
        let mut shares = FairShares::new(3);
        assert!((0..10).all(|owner| shares.take(owner, 2)));
        assert!(!shares.take(5, 2));
        (0..10).for_each(|owner| shares.give_back(&owner, 2));
        assert!(shares.is_empty());
    }
}
