//! Time and randomness as parameters, so that the engine can run in a seeded simulation.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::Time;

/// Returns the wall-clock time. It may jump either way; nothing may rely on it increasing.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Time;

    /// Returns the monotonic time since some moment in the past.
    fn uptime(&self) -> Duration;

    /// Returns the machine's own wall-clock time, without corrections.
    fn uncorrected(&self) -> Time {
        self.now()
    }

    /// Corrects this clock by a clock that many machines share, which read `shared` at some moment between
    /// these two uptimes. Does nothing if this clock takes no corrections.
    fn correct(&self, shared: Time, since: Duration, until: Duration) {
        let _ = (shared, since, until);
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one wall clock; everyone else takes a `Clock`"
        )]
        // A clock before 1970 reads as 1970: wrong, but no reason to stop.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn uptime(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }
}

/// A clock that advances only when the caller advances it.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicI64,
    uptime_micros: AtomicU64,
}

impl ManualClock {
    pub fn at_secs(secs: i64) -> Self {
        let now = AtomicI64::new(Time::from_secs(secs).micros());
        Self { now, uptime_micros: AtomicU64::new(0) }
    }

    /// Advances to that time, or jumps if it is earlier than the current one.
    pub fn set(&self, time: Time) {
        let passed = time.since(self.now()).as_micros() as u64;
        self.uptime_micros.fetch_add(passed, Ordering::Relaxed);
        self.jump(time);
    }

    /// Jumps to a wall-clock time, while no monotonic time passes.
    pub fn jump(&self, time: Time) {
        self.now.store(time.micros(), Ordering::Relaxed);
    }

    pub fn advance(&self, by: Duration) {
        self.set(self.now() + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_micros(self.now.load(Ordering::Relaxed))
    }

    fn uptime(&self) -> Duration {
        Duration::from_micros(self.uptime_micros.load(Ordering::Relaxed))
    }
}

/// A random number generator for jitter and ids. Never for keys or secrets.
pub trait Random: Send + Sync + 'static {
    fn next(&self) -> u64;

    /// Returns a number in `0.0..1.0`.
    fn unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "it is the source of the parameter")]
    fn next(&self) -> u64 {
        rand::random()
    }
}

/// SplitMix64: the same seed gives the same numbers, on every machine.
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for SeededRandom {
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
