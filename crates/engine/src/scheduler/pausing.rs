//! Pauses of a lane, a tenant or a target. Deliveries in flight finish; waiting ones go back to the
//! store, so that a pause of days takes no room.

use std::collections::BTreeSet;

use gancho_domain::{TenantId, Time};
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
    pub fn holds(&self, key: Key) -> bool {
        self.lane || self.tenants.contains(&key.0) || self.targets.contains(&key)
    }
}

impl<T> Scheduler<T> {
    /// A lane that is named is this one.
    pub fn set_pause(&mut self, what: Pause, is_paused: bool, now: Time) {
        let pauses = &mut self.pauses;
        let was_paused = match what {
            Pause::Lane(_) => std::mem::replace(&mut pauses.lane, is_paused),
            Pause::Tenant(tenant) => set(&mut pauses.tenants, tenant, is_paused),
            Pause::Endpoint(tenant, endpoint) => {
                set(&mut pauses.targets, (tenant, endpoint), is_paused)
            }
        };
        if was_paused == is_paused {
            return;
        }
        // Unknown targets are noted too: claims must skip them.
        match what {
            Pause::Lane(_) => {}
            Pause::Tenant(tenant) => self.claims.note_tenant(tenant, is_paused),
            Pause::Endpoint(tenant, endpoint) => {
                self.claims.note_target((tenant, endpoint), is_paused);
            }
        }
        let known = self.targets.keys().copied();
        let touched: Vec<Key> = match what {
            Pause::Endpoint(tenant, endpoint) if self.targets.contains_key(&(tenant, endpoint)) => {
                vec![(tenant, endpoint)]
            }
            Pause::Endpoint(..) => Vec::new(),
            // These change seldom, so this looks at every known target.
            Pause::Tenant(tenant) => known.filter(|key| key.0 == tenant).collect(),
            Pause::Lane(_) => known.collect(),
        };
        for key in touched {
            self.place(key, now);
        }
    }
}

/// Whether it was there before.
fn set<K: Ord>(all: &mut BTreeSet<K>, key: K, is_there: bool) -> bool {
    if is_there { !all.insert(key) } else { all.remove(&key) }
}
