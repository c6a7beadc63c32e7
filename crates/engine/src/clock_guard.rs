//! Decides whether the wall clock can be trusted. Expiry, archiving, pruning and disabling endpoints depend
//! on age, so they must not rely on a clock that has just jumped, or that is far ahead of the last write to
//! the store.

use std::time::Duration;

use gancho_domain::{Clock, Time};
use gancho_store::{Result, Store};
use parking_lot::Mutex;

use crate::Engine;

pub(crate) struct ClockGuard(Mutex<State>);

struct State {
    /// The wall clock and the uptime when they were last read.
    last: (Time, Duration),
    /// The uptime until which the wall clock is not trusted. `None` if it was always trusted.
    doubt_until: Option<Duration>,
}

/// Smaller corrections of the clock are ordinary.
const MAX_CORRECTION: Duration = Duration::from_secs(30);
/// Maximum difference between a node's clock and the database's. Within it, nodes work together without
/// doubt.
pub const MAX_CLOCK_OFFSET: Duration = Duration::from_mins(2);
/// How long the clock is distrusted after a jump, which gives the operator time to correct it.
const DOUBT: Duration = Duration::from_mins(30);
/// Maximum time since the last write to the store for which the clock is trusted at the start: a process may
/// have been stopped for this long.
const MAX_STOP: Duration = Duration::from_hours(24);
/// How long a clock that is further ahead is distrusted at the start.
const DOUBT_AT_START: Duration = Duration::from_hours(24);

impl ClockGuard {
    /// `last_written` is when the store was last written, before this process opened it.
    pub fn new(clock: &dyn Clock, last_written: Option<Time>) -> Self {
        let (wall, uptime) = (clock.now(), clock.uptime());
        let mut doubt = None;
        if let Some(last) = last_written {
            if wall.since(last) > MAX_STOP {
                doubt = Some(DOUBT_AT_START);
                let hint = "correct the clock unless the gateway was stopped that long";
                tracing::warn!(%wall, last_written = %last, suspended_ms = DOUBT_AT_START.as_millis() as u64, hint, "clock is far ahead of the store; expiry, archiving and pruning suspended");
            } else if last.since(wall) > MAX_CORRECTION {
                doubt = Some(DOUBT);
                tracing::warn!(%wall, last_written = %last, suspended_ms = DOUBT.as_millis() as u64, "clock is behind the store; expiry, archiving and pruning suspended");
            }
        }
        Self(Mutex::new(State {
            last: (wall, uptime),
            doubt_until: doubt.map(|doubt| uptime + doubt),
        }))
    }

    /// Distrusts a wall clock that differs from the clock of the database.
    pub fn compare(&self, server: Time, wall: Time, uptime: Duration) {
        if wall.since(server).max(server.since(wall)) <= MAX_CLOCK_OFFSET {
            return;
        }
        let mut state = self.0.lock();
        let is_news = state.doubt_until.is_none_or(|until| until <= uptime);
        state.doubt_until = state.doubt_until.max(Some(uptime + DOUBT));
        if is_news {
            let hint = "correct the clock of this node, or of the database";
            tracing::warn!(%wall, database = %server, suspended_ms = DOUBT.as_millis() as u64, hint, "clock differs from the database's; expiry, archiving and pruning suspended");
        }
    }

    /// Returns whether the wall clock advances with the uptime. Call it regularly, and each time before
    /// acting on a reading.
    pub fn is_trustworthy(&self, wall: Time, uptime: Duration) -> bool {
        self.trusted_since(wall, uptime).is_some()
    }

    /// Returns the wall-clock time since which the clock has been trusted; `None` while it is not.
    /// [`Time::ZERO`] if this process has never doubted it.
    pub fn trusted_since(&self, wall: Time, uptime: Duration) -> Option<Time> {
        let mut state = self.0.lock();
        let (last_wall, last_uptime) = std::mem::replace(&mut state.last, (wall, uptime));
        let expected = last_wall + uptime.saturating_sub(last_uptime);
        if wall.since(expected).max(expected.since(wall)) > MAX_CORRECTION {
            tracing::warn!(%wall, %expected, suspended_ms = DOUBT.as_millis() as u64, "clock jumped; expiry, archiving and pruning suspended");
            state.doubt_until = state.doubt_until.max(Some(uptime + DOUBT));
        }
        let Some(until) = state.doubt_until else { return Some(Time::ZERO) };
        uptime.checked_sub(until).map(|trusted_for| wall - trusted_for)
    }
}

/// Corrects a clock by the database's, so that all nodes use the same time. Returns that time; `None` if the
/// database has no clock of its own.
pub async fn correct_clock(clock: &dyn Clock, store: &dyn Store) -> Result<Option<Time>> {
    let asked = clock.uptime();
    let server = store.server_time().await?;
    if let Some(server) = server {
        clock.correct(server, asked, clock.uptime());
    }
    Ok(server)
}

impl Engine {
    /// Corrects the clock of this node by the database's, if that has one, and compares it with the machine's
    /// clock. Ignores a database that does not answer, which is noticed elsewhere.
    pub(crate) async fn compare_clocks(&self) {
        if !self.is_wall_clock {
            return;
        }
        let before = self.clock.uncorrected();
        if let Ok(Some(server)) = correct_clock(&*self.clock, &*self.store).await {
            // The clock may have been read at any moment of the call, so a slow answer counts as no
            // difference.
            let wall = server.max(before).min(self.clock.uncorrected());
            self.clock_guard.compare(server, wall, self.clock.uptime());
        }
    }

    /// Returns whether deliveries may be removed or given up by their age at this wall-clock time.
    pub fn trusts_clock(&self, now: Time) -> bool {
        self.clock_guard.is_trustworthy(now, self.clock.uptime())
    }

    /// Returns the time since which the clock has been trusted, at this wall-clock time; `None` while it is
    /// not. A period that began earlier may include a jump.
    pub fn clock_trusted_since(&self, now: Time) -> Option<Time> {
        self.clock_guard.trusted_since(now, self.clock.uptime())
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::ManualClock;

    use super::*;

    fn is_trusted(clock_guard: &ClockGuard, clock: &ManualClock) -> bool {
        clock_guard.is_trustworthy(clock.now(), clock.uptime())
    }

    #[test]
    fn a_clock_other_than_the_databases_is_doubted_as_long_as_it_is() {
        let clock = ManualClock::at_secs(1_000_000);
        let clock_guard = ClockGuard::new(&clock, None);
        let compare = |offset: i64| {
            let server = Time::from_secs(clock.now().secs() + offset);
            clock_guard.compare(server, clock.now(), clock.uptime());
            is_trusted(&clock_guard, &clock)
        };
        assert!(compare(90) && compare(-90));
        assert!(!compare(-600), "ahead of the database");
        clock.advance(Duration::from_mins(29));
        assert!(!compare(600), "behind it");
        clock.advance(Duration::from_mins(29));
        assert!(!compare(0));
        clock.advance(Duration::from_mins(2));
        assert!(compare(0));
    }

    #[test]
    fn a_jump_is_doubted_for_a_while() {
        let clock = ManualClock::at_secs(1_000_000);
        let clock_guard = ClockGuard::new(&clock, None);
        let at = |jump: i64, minutes: u64| {
            clock.jump(Time::from_secs(clock.now().secs() + jump));
            clock.advance(Duration::from_mins(minutes));
            is_trusted(&clock_guard, &clock)
        };
        assert!(at(0, 0));
        assert!(at(5, 1), "a small correction");
        assert!(!at(3_600, 1));
        assert!(!at(0, 28));
        assert!(at(0, 2));
        assert!(!at(-3_600, 1), "back again is a jump as well");
    }

    #[test]
    fn what_began_before_a_doubt_is_distinguished_from_what_began_after_it() {
        let clock = ManualClock::at_secs(1_000_000);
        let clock_guard = ClockGuard::new(&clock, None);
        let since = || clock_guard.trusted_since(clock.now(), clock.uptime());
        assert_eq!(since(), Some(Time::ZERO));
        clock.jump(clock.now() + Duration::from_hours(6 * 24));
        assert_eq!(since(), None);
        clock.advance(DOUBT);
        let end_of_doubt = clock.now();
        assert_eq!(since(), Some(end_of_doubt));
        clock.advance(Duration::from_hours(24));
        assert_eq!(since(), Some(end_of_doubt));
    }

    /// faults.md 17
    #[test]
    fn a_clock_far_ahead_of_the_store_is_doubted_from_the_start() {
        let last = Time::from_secs(1_000_000);
        for (ahead, believed) in [(0, true), (23, true), (25, false), (24 * 365, false)] {
            let clock = ManualClock::default();
            clock.set(last + Duration::from_hours(ahead));
            let clock_guard = ClockGuard::new(&clock, Some(last));
            assert_eq!(is_trusted(&clock_guard, &clock), believed, "{ahead} hours ahead");
            clock.advance(Duration::from_hours(23));
            assert_eq!(
                is_trusted(&clock_guard, &clock),
                believed,
                "{ahead} hours ahead, a day later"
            );
            clock.advance(Duration::from_hours(2));
            assert!(is_trusted(&clock_guard, &clock));
        }
    }

    #[test]
    fn a_clock_behind_the_store_is_doubted_for_a_while() {
        let clock = ManualClock::at_secs(1_000_000);
        let clock_guard = ClockGuard::new(&clock, Some(clock.now() + Duration::from_hours(1)));
        assert!(!is_trusted(&clock_guard, &clock));
        clock.advance(Duration::from_mins(30));
        assert!(is_trusted(&clock_guard, &clock));
    }

    #[test]
    fn a_correction_after_a_wrong_start_is_doubted_too() {
        let right = Time::from_secs(1_000_000);
        let clock = ManualClock::default();
        clock.set(right + Duration::from_hours(24 * 365));
        let clock_guard = ClockGuard::new(&clock, Some(right));
        clock.jump(right);
        assert!(!is_trusted(&clock_guard, &clock));
    }
}
