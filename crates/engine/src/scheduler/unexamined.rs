//! Targets with new deliveries in the store of which nobody knows whether they have older ones there.
//!
//! After a start nobody's backlog is known, and a lap over a crowd of targets that hang takes seconds. The next claims
//! look at these first, one of each tenant in turn, so that a target without a backlog waits for one claim and not
//! for the lap.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Bound::{Excluded, Unbounded},
};

use gancho_domain::TenantId;
use gancho_store::{ClaimExclusions, TargetId};

use super::Key;

#[derive(Default)]
pub struct Unexamined {
    /// No tenant is here without a target.
    targets: BTreeMap<TenantId, BTreeSet<TargetId>>,
    /// Whose turn was last.
    last: Option<TenantId>,
}

/// Beyond this many of a tenant, its others wait for their turns.
const MAX_OF_TENANT: usize = 1_024;
/// Tenants that are looked at for one claim.
const MAX_SCANNED: usize = 256;

impl Unexamined {
    pub fn insert(&mut self, (tenant, target): Key) {
        let targets = self.targets.entry(tenant).or_default();
        if targets.len() < MAX_OF_TENANT {
            targets.insert(target);
        }
    }

    pub fn clear(&mut self) {
        self.targets.clear();
    }

    /// Takes up to `max` targets in turn by tenant. Leaves those that claims skip.
    pub fn take(&mut self, max: usize, skip: &ClaimExclusions) -> Vec<Key> {
        let of_each = (max / self.targets.len().max(1)).max(1);
        let (first, last) = (self.last.map_or(Unbounded, Excluded), self.last);
        let after = self.targets.range((first, Unbounded));
        let before = self.targets.range(..).take_while(|(tenant, _)| last >= Some(**tenant));
        let mut taken = Vec::new();
        for (tenant, targets) in after.chain(before).take(MAX_SCANNED) {
            if taken.len() >= max {
                break;
            }
            self.last = Some(*tenant);
            let open = targets.iter().filter(|target| !skip.covers(*tenant, **target));
            taken.extend(open.take(of_each).map(|target| (*tenant, *target)));
        }
        for (tenant, target) in &taken {
            if let Entry::Occupied(mut targets) = self.targets.entry(*tenant) {
                targets.get_mut().remove(target);
                if targets.get().is_empty() {
                    targets.remove();
                }
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::Id;

    use super::*;

    fn keys(list: &[(u128, u128)]) -> Vec<Key> {
        list.iter()
            .map(|(tenant, target)| (Id::from_bits(*tenant), Id::from_bits(*target)))
            .collect()
    }

    #[test]
    fn tenants_take_turns_and_what_is_skipped_stays() {
        let mut unexamined = Unexamined::default();
        for key in keys(&[(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (1, 1)]) {
            unexamined.insert(key);
        }
        let none = ClaimExclusions::default();
        assert_eq!(unexamined.take(2, &none), keys(&[(1, 1), (2, 1)]));
        let skip = ClaimExclusions { targets: [Id::from_bits(1)].into(), ..none.clone() };
        assert_eq!(unexamined.take(2, &skip), keys(&[(1, 2)]), "the only one that is not skipped");
        assert_eq!(unexamined.take(1, &none), keys(&[(3, 1)]));
        assert_eq!(unexamined.take(9, &none), keys(&[(1, 3)]));
        assert_eq!(unexamined.take(9, &none), []);
        assert!(unexamined.targets.is_empty());
    }
}
