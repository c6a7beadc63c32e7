//! Limits how many long responses run at the same time: for each caller, and for all together.
//!
//! A caller that holds slots cannot keep others out: when all are taken, one that makes no progress is displaced, or else
//! one of the caller that has the most, if that leaves it no fewer than the new caller gets.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_domain::TenantId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::listener::ConnectionState;

/// A tenant, or the operator.
type CallerKey = Option<TenantId>;

/// A response that has not gone on for this long waits for a client that does not read.
const STALLED: Duration = Duration::from_secs(10);
/// A displaced response that still runs after this long is not even asked for more: its connection is closed.
const GRACE: Duration = Duration::from_secs(5);

/// Counts what runs, by caller.
pub struct CallerSlots {
    table: Arc<SlotTable>,
    max: usize,
}

struct SlotTable {
    began: Instant,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    running: Vec<Arc<Running>>,
    /// No longer counted, and not ended yet, with the time at which they were displaced.
    displaced: Vec<(Arc<Running>, u64)>,
}

struct Running {
    caller: CallerKey,
    /// In milliseconds since the table was created.
    used_at: AtomicU64,
    is_displaced: CancellationToken,
    connection: Option<Arc<ConnectionState>>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotError {
    OfCaller,
    OfAll,
}

/// Returned when dropped.
pub struct CallerSlot {
    table: Arc<SlotTable>,
    running: Arc<Running>,
}

impl CallerSlots {
    pub fn new(max: usize) -> Self {
        let table = SlotTable { began: Instant::now(), slots: Mutex::default() };
        Self { table: Arc::new(table), max }
    }

    /// `max` is the maximum for this caller. The connection is closed if the response is displaced and does not end.
    pub fn take(
        &self,
        caller: Option<TenantId>,
        max: usize,
        connection: Option<Arc<ConnectionState>>,
    ) -> Result<CallerSlot, SlotError> {
        self.take_at(self.table.now(), caller, max, connection)
    }

    fn take_at(
        &self,
        now: u64,
        caller: CallerKey,
        max: usize,
        connection: Option<Arc<ConnectionState>>,
    ) -> Result<CallerSlot, SlotError> {
        let mut slots = self.table.slots.lock();
        slots.close_displaced(now);
        let own = slots.count(caller);
        if own >= max {
            return Err(SlotError::OfCaller);
        }
        if slots.running.len() >= self.max {
            let at = slots.to_displace(own, now).ok_or(SlotError::OfAll)?;
            let running = slots.running.swap_remove(at);
            running.is_displaced.cancel();
            slots.displaced.push((running, now));
        }
        let (used_at, is_displaced) = (AtomicU64::new(now), CancellationToken::new());
        let running = Arc::new(Running { caller, used_at, is_displaced, connection });
        slots.running.push(running.clone());
        Ok(CallerSlot { table: self.table.clone(), running })
    }
}

impl SlotTable {
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }
}

impl Slots {
    fn count(&self, caller: CallerKey) -> usize {
        self.running.iter().filter(|one| one.caller == caller).count()
    }

    /// The one that has not gone on for longest, if it is stalled; else that of the caller with the most.
    fn to_displace(&self, own: usize, now: u64) -> Option<usize> {
        let used_at = |at: &usize| self.running[*at].used_at.load(Ordering::Relaxed);
        let all = 0..self.running.len();
        let oldest = all.clone().min_by_key(used_at)?;
        if now.saturating_sub(used_at(&oldest)) >= STALLED.as_millis() as u64 {
            return Some(oldest);
        }
        let count_of = |at: &usize| self.count(self.running[*at].caller);
        let max = all.clone().map(|at| count_of(&at)).max()?;
        if max < own + 2 {
            return None;
        }
        all.filter(|at| count_of(at) == max).min_by_key(used_at)
    }

    fn close_displaced(&mut self, now: u64) {
        let grace = GRACE.as_millis() as u64;
        self.displaced.retain(|(running, since)| {
            let is_over = now.saturating_sub(*since) >= grace;
            if is_over && let Some(connection) = &running.connection {
                connection.close();
            }
            !is_over
        });
    }
}

impl CallerSlot {
    /// Notes that the response goes on: its client reads.
    pub fn touch(&self) {
        self.running.used_at.store(self.table.now(), Ordering::Relaxed);
    }

    pub fn is_displaced(&self) -> bool {
        self.running.is_displaced.is_cancelled()
    }

    /// Waits until another caller has the slot. The response must end then.
    pub async fn displaced(&self) {
        self.running.is_displaced.cancelled().await;
    }
}

impl Drop for CallerSlot {
    fn drop(&mut self) {
        let mut slots = self.table.slots.lock();
        slots.running.retain(|one| !Arc::ptr_eq(one, &self.running));
        slots.displaced.retain(|(one, _)| !Arc::ptr_eq(one, &self.running));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_bits(number)
    }

    fn take(slots: &CallerSlots, now: u64, tenant: TenantId) -> Result<CallerSlot, SlotError> {
        slots.take_at(now, Some(tenant), 2, None)
    }

    #[test]
    fn each_caller_has_its_own_and_all_together_have_a_limit() {
        let slots = CallerSlots::new(3);
        let mut taken = Vec::new();
        for number in 0..3 {
            taken.push(take(&slots, 0, tenant(number)).ok().unwrap());
        }
        assert_eq!(take(&slots, 0, tenant(3)).err(), Some(SlotError::OfAll), "each has one");
        taken.pop();
        taken.push(take(&slots, 0, tenant(0)).ok().unwrap());
        assert_eq!(take(&slots, 0, tenant(0)).err(), Some(SlotError::OfCaller));
        drop(taken);
        assert!(slots.table.slots.lock().running.is_empty(), "nothing is kept of those that ended");
    }

    #[test]
    fn who_has_the_most_makes_room_for_one_who_has_none() {
        let slots = CallerSlots::new(4);
        let held: Vec<_> =
            [1, 1, 2, 2].map(|number| take(&slots, 0, tenant(number)).ok().unwrap()).into();
        let first = take(&slots, 1, tenant(3)).ok().unwrap();
        let second = take(&slots, 1, tenant(4)).ok().unwrap();
        let displaced = held.iter().filter(|slot| slot.is_displaced()).count();
        assert_eq!(displaced, 2, "one of each");
        assert!(!first.is_displaced() && !second.is_displaced());
        assert_eq!(take(&slots, 1, tenant(5)).err(), Some(SlotError::OfAll), "all have one");
    }

    #[test]
    fn one_that_nobody_reads_makes_room() {
        let slots = CallerSlots::new(2);
        let stalled = take(&slots, 0, tenant(1)).ok().unwrap();
        let read = take(&slots, 0, tenant(2)).ok().unwrap();
        let later = STALLED.as_millis() as u64;
        read.running.used_at.store(later - 1, Ordering::Relaxed);
        assert_eq!(take(&slots, later - 1, tenant(3)).err(), Some(SlotError::OfAll));
        let third = take(&slots, later, tenant(3)).ok().unwrap();
        assert!(stalled.is_displaced() && !read.is_displaced() && !third.is_displaced());
        assert_eq!(slots.table.slots.lock().displaced.len(), 1);
        let grace = later + GRACE.as_millis() as u64;
        assert_eq!(take(&slots, grace, tenant(4)).err(), Some(SlotError::OfAll), "both are read");
        assert!(slots.table.slots.lock().displaced.is_empty(), "its connection was closed");
        drop(stalled);
        assert_eq!(slots.table.slots.lock().running.len(), 2);
    }
}
