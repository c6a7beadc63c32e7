//! The machine's clock, corrected by a clock that many machines share, so that all of them read the same
//! time.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use crate::{Clock, SystemClock, Time};

/// A clock that is corrected by a shared one.
///
/// Before the first correction it returns the machine's wall-clock time. After that it advances with the
/// uptime, so jumps of the wall clock have no effect, and it does not go back: if it is ahead of the shared
/// clock, it stands still until the shared clock has caught up. It goes back only if it is ahead by more than
/// `MAX_STANDSTILL`, because somebody has set the shared clock back.
#[derive(Debug)]
pub struct CorrectedClock<C = SystemClock> {
    machine: C,
    /// The time at uptime zero, in microseconds.
    epoch: AtomicI64,
    /// The latest time that was returned since the clock last went back.
    latest: AtomicI64,
}

const UNCORRECTED: i64 = i64::MIN;

/// Maximum time for which the clock stands still.
const MAX_STANDSTILL: Duration = Duration::from_secs(10);

impl<C> CorrectedClock<C> {
    pub fn new(machine: C) -> Self {
        Self { machine, epoch: AtomicI64::new(UNCORRECTED), latest: AtomicI64::new(i64::MIN) }
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl<C: Clock> Clock for CorrectedClock<C> {
    fn now(&self) -> Time {
        let epoch = self.epoch.load(Ordering::Acquire);
        if epoch == UNCORRECTED {
            return self.machine.now();
        }
        let now = epoch.saturating_add(micros(self.machine.uptime()));
        Time::from_micros(now.max(self.latest.fetch_max(now, Ordering::AcqRel)))
    }

    fn uptime(&self) -> Duration {
        self.machine.uptime()
    }

    fn uncorrected(&self) -> Time {
        self.machine.now()
    }

    fn correct(&self, shared: Time, since: Duration, until: Duration) {
        let (first, last) = (shared.micros() - micros(until), shared.micros() - micros(since));
        let epoch = self.epoch.load(Ordering::Acquire);
        // A slow answer proves no more than this range, so an epoch within it needs no correction.
        if (first..=last).contains(&epoch) {
            return;
        }
        let corrected = first.midpoint(last);
        self.epoch.store(corrected, Ordering::Release);
        let now = corrected.saturating_add(micros(until));
        if epoch == UNCORRECTED
            || self.latest.load(Ordering::Acquire) - now > micros(MAX_STANDSTILL)
        {
            self.latest.store(now, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;

    const RIGHT: Time = Time::from_secs(1_000_000);
    const SECOND: Duration = Duration::from_secs(1);

    /// Returns a clock corrected by an answer that took no time.
    fn corrected(wall: Time, shared: Time) -> CorrectedClock<ManualClock> {
        let clock = CorrectedClock::new(ManualClock::at_secs(wall.secs()));
        assert_eq!(clock.now(), wall, "the machine's until it is corrected");
        set(&clock, shared);
        clock
    }

    fn set(clock: &CorrectedClock<ManualClock>, shared: Time) {
        clock.correct(shared, clock.uptime(), clock.uptime());
    }

    #[test]
    fn clocks_that_differ_read_the_same_time() {
        for offset in [-300, 0, 300] {
            let wall = Time::from_secs(RIGHT.secs() + offset);
            let clock = corrected(wall, RIGHT);
            assert_eq!(clock.now(), RIGHT);
            clock.machine.advance(SECOND);
            assert_eq!(clock.now(), RIGHT + SECOND);
            assert_eq!(clock.uncorrected(), wall + SECOND);
        }
    }

    #[test]
    fn a_wall_clock_that_jumps_moves_nothing() {
        let clock = corrected(RIGHT, RIGHT);
        clock.machine.jump(RIGHT + Duration::from_hours(1));
        assert_eq!(clock.now(), RIGHT);
        clock.machine.jump(RIGHT - Duration::from_hours(1));
        assert_eq!(clock.now(), RIGHT);
    }

    #[test]
    fn it_stands_still_rather_than_go_back() {
        let clock = corrected(RIGHT, RIGHT);
        clock.machine.advance(SECOND);
        assert_eq!(clock.now(), RIGHT + SECOND);
        set(&clock, RIGHT);
        assert_eq!(clock.now(), RIGHT + SECOND);
        clock.machine.advance(SECOND / 2);
        assert_eq!(clock.now(), RIGHT + SECOND);
        clock.machine.advance(SECOND);
        assert_eq!(clock.now(), RIGHT + SECOND + SECOND / 2);
    }

    #[test]
    fn it_goes_back_with_a_shared_clock_that_was_set_back() {
        let clock = corrected(RIGHT, RIGHT);
        assert_eq!(clock.now(), RIGHT);
        let earlier = RIGHT - Duration::from_hours(1);
        set(&clock, earlier);
        assert_eq!(clock.now(), earlier);
    }

    #[test]
    fn an_answer_that_took_long_corrects_no_more_than_it_shows() {
        let clock = corrected(RIGHT, RIGHT);
        let asked = clock.uptime();
        clock.machine.advance(4 * SECOND);
        let answered = clock.uptime();
        clock.correct(RIGHT + SECOND, asked, answered);
        assert_eq!(clock.now(), RIGHT + 4 * SECOND, "it read that within these four seconds");
        clock.correct(RIGHT + 10 * SECOND, asked, answered);
        assert_eq!(clock.now(), RIGHT + 12 * SECOND);
    }
}
