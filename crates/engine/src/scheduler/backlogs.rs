//! Who has older deliveries in the store, as reported by claims.
//!
//! **Invariant.** Deliveries in the store go before new ones of their target, so a target that is behind is offered
//! nothing directly. It is behind until a claim has seen that nothing is left: a claim that is caught up with
//! everyone, or a whole lap that came to its tenant's turn and left nothing of it. The lap counts only if it
//! began after the target fell behind, and did not skip it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use gancho_domain::{TenantId, fairness::Holdings};
use gancho_store::{ClaimExclusions, TargetId};

use super::Key;

/// Each with the lap in which it was noted.
#[derive(Default)]
pub struct Backlogs {
    targets: BTreeMap<Key, u64>,
    /// How many of them each tenant has.
    owners: Holdings<TenantId>,
    /// All of their targets may be.
    tenants: BTreeMap<TenantId, u64>,
    /// Anyone may be: nobody has asked since the start.
    all: bool,
    /// The number of the lap that is under way.
    lap: u64,
    /// The tenants that it has left with something due, or has skipped something of.
    left: BTreeSet<TenantId>,
}

impl Backlogs {
    pub fn everyone() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Where there are too many to remember, one of the tenant that has most is forgotten: its new deliveries may then
    /// overtake its own older ones, and nobody else's.
    pub fn note(&mut self, key: Key, remembered: usize) {
        if self.targets.insert(key, self.lap).is_none() {
            self.owners.add(key.0);
        }
        if self.targets.len() > remembered
            && let Some(tenant) = self.owners.largest()
            && let Some((&key, _)) = self.targets.range(all_of(tenant)).next()
        {
            self.targets.remove(&key);
            self.owners.remove(tenant);
        }
    }

    pub fn contains(&self, key: Key) -> bool {
        self.all || self.targets.contains_key(&key) || self.tenants.contains_key(&key.0)
    }

    /// The targets that are known one by one. `None`: not all are.
    pub fn targets(&self) -> Option<impl Iterator<Item = TargetId>> {
        let is_known = !self.all && self.tenants.is_empty();
        is_known.then(|| self.targets.keys().map(|(_, target)| *target))
    }

    /// Claims skip the target no longer: the lap that is under way may have passed it.
    pub fn unskip_target(&mut self, key: Key) {
        if let Some(noted) = self.targets.get_mut(&key) {
            *noted = self.lap;
        }
    }

    pub fn unskip_tenant(&mut self, tenant: TenantId) {
        let targets = self.targets.range_mut(all_of(tenant)).map(|(_, noted)| noted);
        for noted in targets.chain(self.tenants.get_mut(&tenant)) {
            *noted = self.lap;
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
        let lap = self.lap;
        self.lap += 1;
        if std::mem::take(&mut self.all) {
            self.tenants.extend(left.iter().chain(&skip.tenants).map(|tenant| (*tenant, lap)));
        }
        self.tenants.retain(|tenant, noted| {
            *noted >= lap || left.contains(tenant) || skip.tenants.contains(tenant)
        });
        self.retain_targets(|(tenant, target), noted| {
            noted >= lap || left.contains(&tenant) || skip.covers(tenant, target)
        });
    }

    fn retain_targets(&mut self, is_behind: impl Fn(Key, u64) -> bool) {
        self.targets.retain(|key, noted| {
            let stays = is_behind(*key, *noted);
            if !stays {
                self.owners.remove(key.0);
            }
            stays
        });
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
}
