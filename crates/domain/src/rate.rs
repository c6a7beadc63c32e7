//! Rate limits by the generic cell rate algorithm (GCRA): one number of state, no timers.

use std::time::Duration;

use crate::Time;

/// A number of operations per period, all of which may happen at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

impl Rate {
    /// Returns the part of one of `sharers` nodes that enforce this rate together. In the long run the parts
    /// add up to the rate; a burst on all nodes exceeds it by fewer than `sharers` operations.
    pub fn shared_by(self, sharers: u32) -> Self {
        let (count, sharers) = (self.count.max(1), sharers.max(1));
        let part = count.div_ceil(sharers);
        // The count is rounded up, so the period is stretched by the same factor.
        Self { count: part, per: self.per.saturating_mul(part.saturating_mul(sharers)) / count }
    }

    /// The time per slot.
    fn gap(self) -> Duration {
        self.per / self.count.max(1)
    }
}

/// The state of a rate limit: the time until which it is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gcra {
    used_until: Time,
}

impl Gcra {
    /// Returns when a slot is free, which is now or later. Takes no slot.
    pub fn free_at(self, rate: Rate, now: Time) -> Time {
        let burst = rate.gap() * (rate.count.max(1) - 1);
        (self.used_until(rate, now) - burst).max(now)
    }

    /// Takes a slot. Call it only if [`Gcra::free_at`] is not after `now`.
    pub fn take(&mut self, rate: Rate, now: Time) {
        self.used_until = self.used_until(rate, now).max(now) + rate.gap();
    }

    /// Returns how many slots are free.
    pub fn left(self, rate: Rate, now: Time) -> u32 {
        let gap = rate.gap().as_nanos().max(1);
        let all = gap * u128::from(rate.count.max(1));
        let free = all.saturating_sub(self.ahead(rate, now).as_nanos()) / gap;
        u32::try_from(free).unwrap_or(u32::MAX)
    }

    /// Takes up to `count` free slots, and returns how many it took.
    pub fn take_up_to(&mut self, rate: Rate, count: u32, now: Time) -> u32 {
        let taken = count.min(self.left(rate, now));
        self.used_until = self.used_until(rate, now).max(now) + rate.gap() * taken;
        taken
    }

    /// Returns how long it takes until all slots are free.
    pub fn ahead(self, rate: Rate, now: Time) -> Duration {
        self.used_until(rate, now).since(now)
    }

    /// Returns until when the rate is used up, or `now` if that is more than one period ahead. No more than
    /// one period is ever used ahead, so the clock must have jumped back, and the limit must not stay closed
    /// for the length of the jump.
    fn used_until(self, rate: Rate, now: Time) -> Time {
        if self.used_until > now + rate.per { now } else { self.used_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 10, per: Duration::from_secs(1) };

    /// Takes as many slots as are free at this time, and returns how many.
    fn taken(state: &mut Gcra, now: Time) -> u32 {
        let mut count = 0;
        while state.free_at(RATE, now) <= now {
            state.take(RATE, now);
            count += 1;
            assert!(count < 1_000, "the gate never closes");
        }
        count
    }

    #[test]
    fn a_burst_then_the_rate() {
        let mut state = Gcra::default();
        let start = Time::from_secs(100);
        assert_eq!(taken(&mut state, start), 10);
        assert_eq!(state.free_at(RATE, start), start + Duration::from_millis(100));
        let later: u32 =
            (1..=100).map(|n| taken(&mut state, start + Duration::from_millis(n * 100))).sum();
        assert_eq!(later, 100);
    }

    #[test]
    fn parts_of_a_rate_are_the_whole() {
        let start = Time::from_secs(100);
        for sharers in [1, 2, 3, 4, 7, 12, 100] {
            let part = RATE.shared_by(sharers);
            let burst = part.count * sharers;
            assert!((RATE.count..RATE.count + sharers).contains(&burst), "{sharers}: {part:?}");
            let mut state = Gcra::default();
            let mut granted = 0;
            // In ten minutes: 6,000 and the burst.
            for millis in 0..600_000 {
                let now = start + Duration::from_millis(millis);
                granted += state.take_up_to(part, u32::MAX, now);
            }
            let (all, max) = (granted * sharers, 6_000 + burst);
            assert!((6_000 - sharers..=max).contains(&all), "{sharers}: {all}");
        }
        assert_eq!(RATE.shared_by(1), RATE);
        assert_eq!(RATE.shared_by(0), RATE);
    }

    #[test]
    fn several_at_once_are_as_many_one_by_one() {
        let start = Time::from_secs(100);
        for (asked, at_once) in [(0, 0), (3, 3), (10, 10), (11, 10), (u32::MAX, 10)] {
            let (mut many, mut one) = (Gcra::default(), Gcra::default());
            assert_eq!(many.left(RATE, start), 10);
            assert_eq!(many.take_up_to(RATE, asked, start), at_once);
            (0..at_once).for_each(|_| one.take(RATE, start));
            assert_eq!(many, if at_once == 0 { many } else { one });
            assert_eq!(many.left(RATE, start), 10 - at_once);
            assert_eq!(many.ahead(RATE, start), Duration::from_millis(100) * at_once);
        }
        let mut state = Gcra::default();
        state.take_up_to(RATE, 10, start);
        assert_eq!(state.left(RATE, start + Duration::from_millis(99)), 0);
        assert_eq!(state.left(RATE, start + Duration::from_millis(250)), 2);
    }

    #[test]
    fn a_clock_that_goes_back_does_not_close_the_gate() {
        let mut state = Gcra::default();
        taken(&mut state, Time::from_secs(1_000_000));
        let now = Time::from_secs(100);
        assert_eq!(taken(&mut state, now), 10);
        assert_eq!(taken(&mut state, now + Duration::from_secs(1)), 10);
    }
}
