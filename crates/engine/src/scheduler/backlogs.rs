//! Who has older deliveries in the store, as reported by claims.
//!
//! **Invariant.** Deliveries in the store go before new ones of their target, so a target that is behind is offered
//! nothing directly. It is behind until a claim has seen that nothing is left: a claim that took all of it, a claim
//! that is caught up with everyone, or a whole lap that came to its tenant's turn and left nothing of it. The claim or
//! the lap counts only if it began after the target fell behind, and did not skip it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use gancho_domain::{TenantId, fairness::Holdings};
use gancho_store::{ClaimExclusions, TargetId};

use super::Key;

/// Orders claims and laps: it counts those claims that have begun and those laps that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

#[derive(Debug, Clone, Copy)]
enum BacklogStatus {
    /// It may have deliveries in the store, or some that were just stored.
    Pending {
        since: Moment,
        /// When a delivery of it was last stored, or a claim last skipped it.
        noted: Moment,
    },
    /// A claim has taken all that was due of it, while all targets of its tenant may be behind.
    Emptied,
}

#[derive(Default)]
pub struct Backlogs {
    targets: BTreeMap<Key, BacklogStatus>,
    /// How many of them each tenant has.
    owners: Holdings<TenantId>,
    /// All of their targets may be behind, each since the moment in which it was noted.
    tenants: BTreeMap<TenantId, Moment>,
    /// Anyone may be: the first lap since the start has not ended.
    all: bool,
    now: Moment,
    lap_began: Moment,
    /// The tenants that the lap has left with something due, or has skipped something of.
    left: BTreeSet<TenantId>,
}

impl Backlogs {
    pub fn everyone() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Where there are too many to remember, one of the tenant that has most is forgotten: its new deliveries may then
    /// overtake its own older ones, and nobody else's.
    pub fn note(&mut self, key: Key, remembered: usize) {
        let now = self.now;
        let pending = BacklogStatus::Pending { since: now, noted: now };
        match self.targets.get_mut(&key) {
            Some(BacklogStatus::Pending { noted, .. }) => *noted = now,
            Some(emptied) => *emptied = pending,
            None => {
                self.targets.insert(key, pending);
                self.owners.add(key.0);
            }
        }
        if self.targets.len() > remembered
            && let Some(tenant) = self.owners.largest()
            && let Some((&key, _)) = self.targets.range(all_of(tenant)).next()
        {
            self.forget(key);
        }
    }

    /// Whether nobody knows which targets of its tenant are behind.
    pub fn is_unknown(&self, key: Key) -> bool {
        self.all || self.tenants.contains_key(&key.0)
    }

    pub fn contains(&self, key: Key) -> bool {
        match self.targets.get(&key) {
            Some(BacklogStatus::Pending { .. }) => true,
            Some(BacklogStatus::Emptied) => false,
            None => self.is_unknown(key),
        }
    }

    /// The targets that are known one by one. `None`: not all are.
    pub fn targets(&self) -> Option<impl Iterator<Item = TargetId>> {
        let is_known = !self.all && self.tenants.is_empty();
        is_known.then(|| self.targets.keys().map(|(_, target)| *target))
    }

    /// Claims skip the target no longer: the claim and the lap that are under way may have passed it.
    pub fn unskip_target(&mut self, key: Key) {
        let now = self.now;
        if let Some(BacklogStatus::Pending { since, noted }) = self.targets.get_mut(&key) {
            (*since, *noted) = (now, now);
        }
    }

    pub fn unskip_tenant(&mut self, tenant: TenantId) {
        let now = self.now;
        for (_, status) in self.targets.range_mut(all_of(tenant)) {
            if let BacklogStatus::Pending { since, noted } = status {
                (*since, *noted) = (now, now);
            }
        }
        if let Some(noted) = self.tenants.get_mut(&tenant) {
            *noted = now;
        }
    }

    /// Returns the moment of the claim that begins now. What is noted from then on, it may not have seen.
    pub fn begin_claim(&mut self) -> Moment {
        self.now.0 += 1;
        self.now
    }

    /// A claim has taken all that was due of the target.
    ///
    /// What was stored meanwhile is brought by the next claim; deliveries that come straight in may overtake it. If it
    /// counted, a target with a steady stream of deliveries would stay behind.
    pub fn empty(&mut self, key: Key, claim_began: Moment) {
        let is_unknown = self.is_unknown(key);
        let Some(status) = self.targets.get_mut(&key) else { return };
        if !matches!(status, BacklogStatus::Pending { since, .. } if *since < claim_began) {
            return;
        }
        if is_unknown {
            *status = BacklogStatus::Emptied;
        } else {
            self.forget(key);
        }
    }

    /// A claim has seen all that is due, but for what it skipped.
    pub fn caught_up(&mut self, skip: &ClaimExclusions) {
        self.all = false;
        self.tenants.retain(|tenant, _| skip.tenants.contains(tenant));
        self.retain_targets(|(tenant, target), _| skip.covers(tenant, target));
    }

    /// A claim left something of these tenants.
    pub fn leave(&mut self, tenants: impl IntoIterator<Item = TenantId>) {
        self.left.extend(tenants);
    }

    pub fn is_everyone(&self) -> bool {
        self.all
    }

    /// Every tenant has had a turn since the last lap ended.
    pub fn end_lap(&mut self, skip: &ClaimExclusions) {
        let left = std::mem::take(&mut self.left);
        let began = self.lap_began;
        if std::mem::take(&mut self.all) {
            let may_be = left.iter().chain(&skip.tenants);
            self.tenants.extend(may_be.map(|tenant| (*tenant, self.now)));
        }
        self.tenants.retain(|tenant, noted| {
            *noted >= began || left.contains(tenant) || skip.tenants.contains(tenant)
        });
        self.retain_targets(|(tenant, target), noted| {
            noted >= began || left.contains(&tenant) || skip.covers(tenant, target)
        });
        self.now.0 += 1;
        self.lap_began = self.now;
    }

    /// Keeps the targets that are still behind, and those that are not although their tenant may be.
    fn retain_targets(&mut self, is_behind: impl Fn(Key, Moment) -> bool) {
        self.targets.retain(|key, status| {
            let stays = match status {
                BacklogStatus::Pending { noted, .. } => is_behind(*key, *noted),
                BacklogStatus::Emptied => self.tenants.contains_key(&key.0),
            };
            if !stays {
                self.owners.remove(key.0);
            }
            stays
        });
    }

    fn forget(&mut self, key: Key) {
        self.targets.remove(&key);
        self.owners.remove(key.0);
    }
}

fn all_of(tenant: TenantId) -> RangeInclusive<Key> {
    (tenant, TargetId::from_bits(0))..=(tenant, TargetId::from_bits(u128::MAX))
}

#[cfg(test)]
mod tests {
    use gancho_domain::Id;

    use super::*;

    fn key(tenant: u128, target: u128) -> Key {
        (Id::from_bits(tenant), Id::from_bits(target))
    }

    fn end_lap(behind: &mut Backlogs, left: &[u128], skip: &ClaimExclusions) {
        behind.leave(left.iter().map(|tenant| Id::from_bits(*tenant)));
        behind.end_lap(skip);
    }

    #[test]
    fn after_the_first_lap_only_those_with_something_left_are_behind() {
        let mut behind = Backlogs::everyone();
        assert!(behind.contains(key(1, 1)) && behind.contains(key(2, 2)));
        end_lap(&mut behind, &[1], &ClaimExclusions::default());
        assert!(behind.contains(key(1, 1)) && behind.contains(key(1, 9)));
        assert!(!behind.contains(key(2, 2)));
        end_lap(&mut behind, &[1], &ClaimExclusions::default());
        assert!(behind.contains(key(1, 1)));
        end_lap(&mut behind, &[2], &ClaimExclusions::default());
        assert!(!behind.contains(key(1, 1)), "a whole lap found nothing more of it");
    }

    #[test]
    fn a_target_noted_during_a_lap_waits_for_a_whole_one() {
        let (mut behind, none) = (Backlogs::default(), ClaimExclusions::default());
        behind.note(key(1, 1), 10);
        end_lap(&mut behind, &[], &none);
        assert!(behind.contains(key(1, 1)), "the lap may have passed it before");
        assert_eq!(behind.targets().unwrap().count(), 1);
        end_lap(&mut behind, &[1], &none);
        assert!(behind.contains(key(1, 1)), "something was left");
        end_lap(&mut behind, &[], &none);
        assert!(!behind.contains(key(1, 1)));
    }

    #[test]
    fn a_tenant_with_very_many_does_not_displace_those_of_others() {
        let mut behind = Backlogs::default();
        behind.note(key(1, 1), 10);
        behind.note(key(9, 1), 10);
        (0..100).for_each(|target| behind.note(key(5, target), 10));
        assert!(behind.contains(key(1, 1)) && behind.contains(key(9, 1)));
        assert_eq!(behind.targets().unwrap().count(), 10);
        behind.caught_up(&ClaimExclusions::default());
        assert_eq!(behind.owners.largest(), None);
    }

    #[test]
    fn what_was_skipped_is_still_behind() {
        let (mut behind, none) = (Backlogs::default(), ClaimExclusions::default());
        let skip = ClaimExclusions { targets: [key(1, 1).1].into(), ..ClaimExclusions::default() };
        behind.note(key(1, 1), 10);
        for _ in 0..3 {
            end_lap(&mut behind, &[], &skip);
            behind.caught_up(&skip);
            assert!(behind.contains(key(1, 1)));
        }
        behind.unskip_target(key(1, 1));
        end_lap(&mut behind, &[], &none);
        assert!(behind.contains(key(1, 1)), "this lap may have skipped it");
        end_lap(&mut behind, &[], &none);
        assert!(!behind.contains(key(1, 1)));
        let skip = ClaimExclusions { tenants: [key(1, 1).0].into(), ..ClaimExclusions::default() };
        behind.note(key(1, 1), 10);
        end_lap(&mut behind, &[], &skip);
        end_lap(&mut behind, &[], &skip);
        behind.unskip_tenant(key(1, 1).0);
        end_lap(&mut behind, &[], &none);
        assert!(behind.contains(key(1, 1)));
        behind.caught_up(&none);
        assert!(!behind.contains(key(1, 1)));
    }

    #[test]
    fn a_target_of_which_a_claim_took_all_is_not_behind() {
        let mut behind = Backlogs::everyone();
        for target in 1..=3 {
            behind.note(key(1, target), 10);
        }
        let began = behind.begin_claim();
        behind.note(key(1, 1), 10);
        behind.note(key(1, 4), 10);
        for target in [1, 2, 4] {
            behind.empty(key(1, target), began);
        }
        assert!(!behind.contains(key(1, 1)) && !behind.contains(key(1, 2)));
        assert!(behind.contains(key(1, 3)), "nothing of it was taken");
        assert!(behind.contains(key(1, 4)), "it fell behind after the claim had begun");
        assert!(behind.contains(key(1, 5)) && behind.contains(key(2, 2)), "as everyone is");

        // The tenant has others with more, now and for as long as they have.
        for _ in 0..2 {
            end_lap(&mut behind, &[1], &ClaimExclusions::default());
            assert!(!behind.contains(key(1, 2)) && behind.contains(key(1, 5)));
        }
        behind.note(key(1, 2), 10);
        assert!(behind.contains(key(1, 2)), "it fell behind again");
        end_lap(&mut behind, &[], &ClaimExclusions::default());
        end_lap(&mut behind, &[], &ClaimExclusions::default());
        assert!((1..=5).all(|target| !behind.contains(key(1, target))));
        assert_eq!(behind.owners.largest(), None);
    }

    #[test]
    fn a_claim_that_skipped_a_target_says_nothing_of_it() {
        let mut behind = Backlogs::default();
        behind.note(key(1, 1), 10);
        let began = behind.begin_claim();
        behind.unskip_target(key(1, 1));
        behind.empty(key(1, 1), began);
        assert!(behind.contains(key(1, 1)));
        let began = behind.begin_claim();
        behind.empty(key(1, 1), began);
        assert!(!behind.contains(key(1, 1)));
    }
}
