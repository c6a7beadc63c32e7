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
    pub fn new(max: usize) -> Self {
        Self { running: Running::default(), max }
    }

    /// `max` is the maximum for this caller.
    pub fn take(&self, caller: Option<TenantId>, max: usize) -> Result<CallerSlot, SlotError> {
        let mut running = self.running.lock();
        if running.get(&caller).is_some_and(|count| *count >= max) {
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
        let slots = CallerSlots::new(5);
        let tenant = |number| Some(TenantId::from_bits(number));
        let mut taken = Vec::new();
        for number in 0..2 {
            taken.push(slots.take(tenant(number), 2).ok().unwrap());
            taken.push(slots.take(tenant(number), 2).ok().unwrap());
            assert_eq!(slots.take(tenant(number), 2).err(), Some(SlotError::OfCaller));
        }
        taken.push(slots.take(None, 2).ok().unwrap());
        assert_eq!(slots.take(None, 2).err(), Some(SlotError::OfAll));
        taken.pop();
        taken.push(slots.take(tenant(7), 2).ok().unwrap());
        drop(taken);
        assert!(slots.running.lock().is_empty(), "nothing is kept of those that ended");
    }
}
