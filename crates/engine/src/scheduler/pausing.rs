//! Holding a lane, a tenant or a target back. What is in flight finishes; what waits goes back to
//! the store, so that a pause of days takes no room.

use std::collections::BTreeSet;

use gancho_domain::{Lane, TenantId, Time};
use gancho_store::{Pause, TargetId};

use super::{Key, Scheduler};

/// What is paused, as one lane sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PauseSet {
    pub lane: bool,
    pub tenants: BTreeSet<TenantId>,
    pub targets: BTreeSet<Key>,
}

impl PauseSet {
    pub fn of(lane: Lane, pauses: &[Pause]) -> Self {
        let mut set = Self::default();
        for pause in pauses {
            match *pause {
                Pause::Lane(held) => set.lane |= held == lane,
                Pause::Tenant(tenant) => _ = set.tenants.insert(tenant),
                Pause::Endpoint(tenant, endpoint) => _ = set.targets.insert((tenant, endpoint)),
            }
        }
        set
    }

    pub fn holds(&self, key: Key) -> bool {
        self.tenants.contains(&key.0) || self.targets.contains(&key)
    }
}

impl<T> Scheduler<T> {
    pub fn set_pauses(&mut self, pauses: PauseSet, now: Time) {
        if pauses == self.pauses {
            return;
        }
        let before = std::mem::replace(&mut self.pauses, pauses);
        let tenants: Vec<TenantId> = before
            .tenants
            .symmetric_difference(&self.pauses.tenants)
            .copied()
            .collect();
        let targets: Vec<Key> = before
            .targets
            .symmetric_difference(&self.pauses.targets)
            .copied()
            .collect();
        for tenant in tenants {
            let all = (tenant, TargetId::from_bits(0))..=(tenant, TargetId::from_bits(u128::MAX));
            let known: Vec<Key> = self.targets.range(all).map(|(key, _)| *key).collect();
            for key in known {
                self.place(key, now);
            }
            // Also those of whom nothing is known: claims are to pass them over.
            if !self.tenants.contains_key(&tenant) {
                self.claims
                    .note_tenant(tenant, self.pauses.tenants.contains(&tenant));
            }
        }
        for key in targets {
            self.place(key, now);
            if !self.targets.contains_key(&key) {
                self.claims
                    .note_target(key.1, self.pauses.targets.contains(&key));
            }
        }
    }
}
