//! Chooses which deliveries a watcher sees if it asked for a maximum number of changes per second. A delivery
//! is in the sample with all of its changes or not at all, so that a reader sees how each one ends.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use gancho_domain::DeliveryId;

/// Maximum deliveries that are remembered to be in the sample.
const MAX_REMEMBERED: usize = 512;
const WINDOW: Duration = Duration::from_secs(1);

pub(super) struct Sampler {
    max_rate: u32,
    /// One of `mask + 1` deliveries is in the sample.
    mask: u64,
    /// The mask at the start of the window. Within a window the mask only grows.
    first: u64,
    /// The smaller of this window's first mask and the window's before. Deliveries that an earlier mask
    /// admitted may not be seen to their end.
    widest: u64,
    window_ends: Option<Instant>,
    /// The changes in this window, and how many of them were let through.
    seen: u32,
    admitted: u32,
    remembered: HashSet<DeliveryId>,
    order: VecDeque<DeliveryId>,
}

impl Sampler {
    pub fn new(max_rate: u32) -> Self {
        Self {
            max_rate: max_rate.max(1),
            mask: 0,
            first: 0,
            widest: 0,
            window_ends: None,
            seen: 0,
            admitted: 0,
            remembered: HashSet::new(),
            order: VecDeque::new(),
        }
    }

    pub fn admits(&mut self, id: DeliveryId, now: Instant) -> bool {
        if self.window_ends.is_none_or(|end| now >= end) {
            self.begin_window(now);
        }
        self.seen = self.seen.saturating_add(1);
        // Rejects most of a flood: a delivery that a mask admits is admitted by every smaller mask.
        let hash = hash(id);
        if hash & self.widest != 0 {
            return false;
        }
        if self.remembered.contains(&id) {
            self.admitted += 1;
            return true;
        }
        if self.admitted >= self.max_rate {
            // More changes than this window was expected to have: the rest of it gets a smaller share.
            self.mask = self.mask * 2 + 1;
            self.admitted = self.max_rate / 2;
        }
        if hash & self.mask != 0 {
            return false;
        }
        self.admitted += 1;
        self.remember(id);
        true
    }

    /// Starts a window. Its share follows from the number of changes in the last window.
    fn begin_window(&mut self, now: Instant) {
        let parts = u64::from(self.seen / self.max_rate + 1);
        let before = self.first;
        self.mask = parts.next_power_of_two() - 1;
        self.first = self.mask;
        self.widest = before.min(self.mask);
        self.window_ends = Some(now + WINDOW);
        (self.seen, self.admitted) = (0, 0);
    }

    fn remember(&mut self, id: DeliveryId) {
        self.remembered.insert(id);
        self.order.push_back(id);
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.remembered.remove(&oldest);
        }
    }
}

/// Hashes an id, because ids of one millisecond differ in few bits.
fn hash(id: DeliveryId) -> u64 {
    let bits = id.bits();
    ((bits ^ (bits >> 64)) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> DeliveryId {
        DeliveryId::from_bits(number << 10)
    }

    #[test]
    fn few_changes_are_all_seen() {
        let (mut sampler, start) = (Sampler::new(40), Instant::now());
        for second in 0..100_u64 {
            let now = start + Duration::from_secs(second);
            assert!((0..30).all(|number| {
                let number = u128::from(second) * 100 + number;
                sampler.admits(id(number), now)
            }));
        }
    }

    #[test]
    fn a_flood_is_sampled_and_a_delivery_is_seen_to_its_end() {
        let (mut sampler, start) = (Sampler::new(40), Instant::now());
        let (mut accepted, mut whole) = (0_u32, 0_u32);
        for number in 0..50_000_u64 {
            // 5,000 a second, each with two changes a few milliseconds apart.
            let now = start + Duration::from_micros(number * 200);
            let is_seen = sampler.admits(id(u128::from(number)), now);
            accepted += u32::from(is_seen);
            if let Some(earlier) = number.checked_sub(20) {
                let was_remembered = sampler.remembered.contains(&id(u128::from(earlier)));
                let is_end_seen = sampler.admits(id(u128::from(earlier)), now);
                whole += u32::from(was_remembered && is_end_seen);
            }
        }
        assert!((100..2_000).contains(&accepted), "{accepted} in ten seconds");
        assert!(whole + 5 >= accepted, "{whole} of {accepted}");
        // When it is over, everything is seen again.
        let later = start + Duration::from_secs(60);
        sampler.admits(id(1 << 40), later);
        assert!(sampler.admits(id(1 << 41), later + WINDOW));
    }
}
