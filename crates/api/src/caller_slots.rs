//! Limits the concurrent long responses of each caller. Each caller has its own slots: however many others
//! there are, and whether they read or not, no caller keeps another out. The total is bounded by the
//! connections of the listener, which closes those that have been idle longest.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use gancho_domain::TenantId;
use parking_lot::Mutex;

use crate::{codes, problem::Problem};

/// A tenant, or the operator.
type CallerKey = Option<TenantId>;

const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts running responses by caller.
pub struct CallerSlots {
    /// What is limited, for the error message.
    noun: &'static str,
    max_of_tenant: usize,
    max_of_operator: usize,
    running: Arc<Mutex<HashMap<CallerKey, usize>>>,
}

/// Returned when dropped.
pub struct CallerSlot {
    running: Arc<Mutex<HashMap<CallerKey, usize>>>,
    caller: CallerKey,
}

impl CallerSlots {
    pub fn new(noun: &'static str, max_of_tenant: usize, max_of_operator: usize) -> Self {
        Self { noun, max_of_tenant, max_of_operator, running: Arc::default() }
    }

    /// Takes a slot. `None` is the operator, even if it acts for a tenant.
    pub fn take(&self, caller: Option<TenantId>) -> Result<CallerSlot, Problem> {
        let max = if caller.is_some() { self.max_of_tenant } else { self.max_of_operator };
        let mut running = self.running.lock();
        let count = running.entry(caller).or_default();
        if *count >= max {
            let noun = self.noun;
            let detail = format!("{max} {noun} are already open; let one end, then retry");
            return Err(Problem::new(&codes::RATE_LIMITED, detail).retry_after(RETRY_AFTER));
        }
        *count += 1;
        Ok(CallerSlot { running: self.running.clone(), caller })
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        if let Entry::Occupied(mut entry) = running.entry(self.caller) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_its_own() {
        let slots = CallerSlots::new("exports", 2, 3);
        let take = |number: u128| slots.take((number > 0).then(|| TenantId::from_bits(number)));
        let mut taken: Vec<_> = (1..1_000).map(|number| take(number).ok().unwrap()).collect();
        taken.push(take(1).ok().unwrap());
        let refused = take(1).err().unwrap();
        assert_eq!(*refused.code(), codes::RATE_LIMITED);
        taken.extend((0..3).map(|_| take(0).ok().unwrap()));
        assert!(take(0).is_err());
        taken.remove(0);
        taken.push(take(1).ok().unwrap());
        drop(taken);
        assert!(slots.running.lock().is_empty(), "nothing is kept of those that ended");
    }
}
