//! The circuit breaker: after several consecutive failures a target gets no deliveries for a while, then a
//! single probe. While it is open, due deliveries wait, and waiting is not an attempt.

use std::time::Duration;

use crate::Time;

/// Consecutive failures that open it.
const FAILURE_THRESHOLD: u32 = 10;
const FIRST_OPEN_TIME: Duration = Duration::from_secs(10);
const MAX_OPEN_TIME: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breaker {
    failures: u32,
    /// How often it opened since the last success: each open period is twice as long as the one before.
    openings: u32,
    rests_until: Option<Time>,
    /// A probe is in flight.
    probing: bool,
}

/// Whether a delivery may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// One delivery may go out, as a probe.
    Probe,
    ClosedUntil(Time),
    /// A probe is in flight: wait for its result.
    Waiting,
}

impl Breaker {
    pub fn gate(&self, now: Time) -> Gate {
        match self.rests_until {
            None => Gate::Open,
            Some(_) if self.probing => Gate::Waiting,
            Some(until) if now < until => Gate::ClosedUntil(until),
            Some(_) => Gate::Probe,
        }
    }

    /// Notes that a delivery is sent through [`Gate::Probe`].
    pub fn probe(&mut self) {
        self.probing = true;
    }

    /// Ends the pause early, for someone who wants to know now: the next delivery may be the probe.
    pub fn end_rest(&mut self, now: Time) {
        self.rests_until = self.rests_until.map(|until| until.min(now));
    }

    /// Ends an open period that would be longer than the maximum, after the clock went back.
    pub fn clock_went_back(&mut self, now: Time) {
        if self.rests_until.is_some_and(|until| until.since(now) > MAX_OPEN_TIME) {
            self.end_rest(now);
        }
    }

    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub fn failed(&mut self, now: Time) {
        self.failures = self.failures.saturating_add(1);
        // Results of deliveries that were in flight before it opened do not open it again.
        let fresh = self.rests_until.is_none() && self.failures >= FAILURE_THRESHOLD;
        if fresh || self.probing {
            let rest = FIRST_OPEN_TIME.saturating_mul(2_u32.saturating_pow(self.openings.min(10)));
            self.rests_until = Some(now + rest.min(MAX_OPEN_TIME));
            self.openings += 1;
            self.probing = false;
        }
    }

    /// Notes that the probe was not sent after all: the next delivery may be the probe.
    pub fn unprobe(&mut self) {
        self.probing = false;
    }

    /// Returns until when the breaker is open; `None` if it is closed.
    pub fn open_until(&self) -> Option<Time> {
        self.rests_until
    }

    pub fn is_open(&self) -> bool {
        self.rests_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1_000);

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURE_THRESHOLD {
            assert_eq!(breaker.gate(NOW), Gate::Open);
            breaker.failed(NOW);
        }
        breaker
    }

    #[test]
    fn opens_rests_probes_and_closes() {
        let mut breaker = opened();
        let until = NOW + FIRST_OPEN_TIME;
        assert_eq!(breaker.gate(NOW), Gate::ClosedUntil(until));
        breaker.failed(NOW);
        assert_eq!(breaker.gate(NOW), Gate::ClosedUntil(until), "stragglers change nothing");
        assert_eq!(breaker.gate(until), Gate::Probe);
        breaker.probe();
        assert_eq!(breaker.gate(until), Gate::Waiting);
        breaker.failed(until);
        assert_eq!(breaker.gate(until), Gate::ClosedUntil(until + 2 * FIRST_OPEN_TIME));
        breaker.probe();
        breaker.succeeded();
        assert_eq!(breaker.gate(until), Gate::Open);
    }

    #[test]
    fn a_rest_that_is_ended_early_lets_one_probe_out() {
        let mut breaker = opened();
        breaker.end_rest(NOW);
        assert_eq!(breaker.gate(NOW), Gate::Probe);
        breaker.probe();
        breaker.end_rest(NOW);
        assert_eq!(breaker.gate(NOW), Gate::Waiting, "one at a time");
        breaker.failed(NOW);
        assert_eq!(breaker.gate(NOW), Gate::ClosedUntil(NOW + 2 * FIRST_OPEN_TIME));
        let mut closed = Breaker::default();
        closed.end_rest(NOW);
        assert_eq!(closed, Breaker::default());
    }

    #[test]
    fn rests_stay_bounded() {
        let mut breaker = opened();
        let mut now = NOW;
        for _ in 0..100 {
            let Gate::ClosedUntil(until) = breaker.gate(now) else { panic!("{breaker:?}") };
            assert!(until.since(now) <= MAX_OPEN_TIME);
            now = until;
            breaker.probe();
            breaker.failed(now);
        }
    }

    #[test]
    fn a_clock_that_goes_back_lets_a_probe_out() {
        let mut breaker = opened();
        let until = NOW + FIRST_OPEN_TIME;
        breaker.clock_went_back(NOW);
        assert_eq!(breaker.gate(NOW), Gate::ClosedUntil(until), "not by much");
        let before = Time::from_secs(1);
        breaker.clock_went_back(before);
        assert_eq!(breaker.gate(before), Gate::Probe);
        assert_eq!(breaker.gate(NOW), Gate::Probe, "it does not close again by itself");
    }
}
