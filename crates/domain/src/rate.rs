//! Rate limits that answer "when is the next slot" (GCRA): one number of state, no timers.

use std::time::Duration;

use crate::Time;

/// So many in so long, all of which may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

impl Rate {
    /// The time one slot stands for.
    fn gap(self) -> Duration {
        self.per / self.count.max(1)
    }
}

/// How far ahead of the present a rate has been used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticker {
    used_until: Time,
}

impl Ticker {
    /// When a slot is free: now, or later. Takes nothing.
    pub fn free_at(self, rate: Rate, now: Time) -> Time {
        let burst = rate.gap() * (rate.count.max(1) - 1);
        (self.used_until(rate, now) - burst).max(now)
    }

    /// Takes a slot; call when [`Ticker::free_at`] is not after `now`.
    pub fn take(&mut self, rate: Rate, now: Time) {
        self.used_until = self.used_until(rate, now).max(now) + rate.gap();
    }

    /// No more than one period is ever used ahead. Where more is, the clock jumped back, and the gate
    /// must not stay closed for the length of the jump: it begins anew.
    fn used_until(self, rate: Rate, now: Time) -> Time {
        if self.used_until > now + rate.per { now } else { self.used_until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 10, per: Duration::from_secs(1) };

    /// Takes as many slots as it can at each of the given times.
    fn taken(ticker: &mut Ticker, now: Time) -> u32 {
        let mut count = 0;
        while ticker.free_at(RATE, now) <= now {
            ticker.take(RATE, now);
            count += 1;
            assert!(count < 1_000, "the gate never closes");
        }
        count
    }

    #[test]
    fn a_burst_then_the_rate() {
        let mut ticker = Ticker::default();
        let start = Time::from_secs(100);
        assert_eq!(taken(&mut ticker, start), 10);
        assert_eq!(ticker.free_at(RATE, start), start + Duration::from_millis(100));
        let later: u32 =
            (1..=100).map(|n| taken(&mut ticker, start + Duration::from_millis(n * 100))).sum();
        assert_eq!(later, 100);
    }

    #[test]
    fn a_clock_that_goes_back_does_not_close_the_gate() {
        let mut ticker = Ticker::default();
        taken(&mut ticker, Time::from_secs(1_000_000));
        let now = Time::from_secs(100);
        assert_eq!(taken(&mut ticker, now), 10);
        assert_eq!(taken(&mut ticker, now + Duration::from_secs(1)), 10);
    }
}
