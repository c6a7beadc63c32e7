//! Pauses of a lane, a tenant or a target. Deliveries in flight finish; waiting ones go back to the
//! store, so that a pause of days takes no room.

use std::collections::BTreeSet;

use gancho_domain::{Lane, TenantId, Time};
use gancho_store::Pause;

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
        self.lane || self.tenants.contains(&key.0) || self.targets.contains(&key)
    }
}

impl<T> Scheduler<T> {
    pub fn set_pauses(&mut self, pauses: PauseSet, now: Time) {
        if pauses == self.pauses {
            return;
        }
        let before = std::mem::replace(&mut self.pauses, pauses);
        // Unknown targets are noted too: claims must skip them.
        for tenant in before.tenants.symmetric_difference(&self.pauses.tenants) {
            self.claims.note_tenant(*tenant, self.pauses.tenants.contains(tenant));
        }
        for key in before.targets.symmetric_difference(&self.pauses.targets) {
            self.claims.note_target(*key, self.pauses.targets.contains(key));
        }
        // Pauses change seldom, so this checks every known target.
        let known: Vec<Key> = self.targets.keys().copied().collect();
        for key in known {
            self.place(key, now);
        }
    }
}
