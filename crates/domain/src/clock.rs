//! Time and chance as parameters, so that the engine can run in a seeded simulation.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::Time;

/// Tells the time of day. It may jump either way; nothing may rely on it rising.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Time;
}

#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        // A clock before 1970 reads as 1970: wrong, but no reason to stop.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at_secs(secs: i64) -> Self {
        Self(AtomicI64::new(Time::from_secs(secs).micros()))
    }

    pub fn set(&self, time: Time) {
        self.0.store(time.micros(), Ordering::Relaxed);
    }

    pub fn advance(&self, by: std::time::Duration) {
        self.set(self.now() + by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// A source of chance for jitter and ids. Never for keys or secrets.
pub trait Random: Send + Sync + 'static {
    fn next(&self) -> u64;

    /// A number in `0.0..1.0`.
    fn unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub struct SystemRandom;

impl Random for SystemRandom {
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
