//! Limits how many long responses run at the same time: for each caller, and for all together.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::TenantId;
use parking_lot::Mutex;

/// A tenant, or the operator.
type CallerKey = Option<TenantId>;
type Running = Arc<Mutex<HashMap<CallerKey, usize>>>;

/// Counts what runs, by caller.
pub struct CallerSlots {
    running: Running,
    max_per_caller: usize,
    max: usize,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotError {
    OfCaller,
    OfAll,
}

/// Returned when dropped.
pub struct CallerSlot {
    running: Running,
    caller: CallerKey,
}

impl CallerSlots {
    pub fn new(max_per_caller: usize, max: usize) -> Self {
        Self { running: Running::default(), max_per_caller, max }
    }

    pub fn take(&self, caller: Option<TenantId>) -> Result<CallerSlot, SlotError> {
        let mut running = self.running.lock();
        if running.get(&caller).is_some_and(|count| *count >= self.max_per_caller) {
            return Err(SlotError::OfCaller);
        }
        if running.values().sum::<usize>() >= self.max {
            return Err(SlotError::OfAll);
        }
        *running.entry(caller).or_default() += 1;
        Ok(CallerSlot { running: self.running.clone(), caller })
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut running = self.running.lock();
        if let Some(count) = running.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_its_own_and_all_together_have_a_limit() {
        let slots = CallerSlots::new(2, 5);
        let tenant = |number| Some(TenantId::from_bits(number));
        let mut taken = Vec::new();
        for number in 0..2 {
            taken.push(slots.take(tenant(number)).ok().unwrap());
            taken.push(slots.take(tenant(number)).ok().unwrap());
            assert_eq!(slots.take(tenant(number)).err(), Some(SlotError::OfCaller));
        }
        taken.push(slots.take(None).ok().unwrap());
        assert_eq!(slots.take(None).err(), Some(SlotError::OfAll));
        taken.pop();
        taken.push(slots.take(tenant(7)).ok().unwrap());
        drop(taken);
        assert!(slots.running.lock().is_empty(), "nothing is kept of those that ended");
    }
}
