//! Histograms of durations in a lane, in fixed buckets, for the metrics. Counting is a few additions without
//! a lock, because it happens at every attempt.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds in milliseconds, for durations that should be short.
const QUICK: &[u64] =
    &[1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000];
/// Upper bounds in milliseconds, for durations of seconds to days.
const SLOW: &[u64] = &[
    1_000, 5_000, 15_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000, 7_200_000, 18_000_000,
    36_000_000, 86_400_000,
];
/// Attempts after this one are counted together with it.
pub const LAST_ATTEMPT: usize = 10;

#[derive(Debug)]
pub(crate) struct Timings {
    /// From acceptance to the first attempt.
    pub to_first_attempt: Histogram,
    /// From the start of an attempt to its end.
    pub attempt: Histogram,
    /// The delay of the plan before the next attempt.
    pub backoff: Histogram,
    /// Attempts that are not the first, by their number.
    retries: [AtomicU64; LAST_ATTEMPT],
    /// How many of them succeeded.
    retry_successes: [AtomicU64; LAST_ATTEMPT],
}

/// What was counted since the engine started.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    pub to_first_attempt: Buckets,
    pub attempt: Buckets,
    pub backoff: Buckets,
    /// Retries by attempt: the second attempt, the third and so on. The last entry includes all later ones.
    pub retries: Vec<u64>,
    /// How many of them succeeded.
    pub retry_successes: Vec<u64>,
}

impl Timings {
    pub fn new() -> Self {
        Self {
            to_first_attempt: Histogram::new(QUICK),
            attempt: Histogram::new(QUICK),
            backoff: Histogram::new(SLOW),
            retries: Default::default(),
            retry_successes: Default::default(),
        }
    }

    /// Counts an attempt. `number` counts from 1 over the delivery's whole life.
    pub fn count_attempt(&self, number: u32) {
        if let Some(place) = place_of(number) {
            self.retries[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts that the attempt with this number succeeded.
    pub fn count_success(&self, number: u32) {
        if let Some(place) = place_of(number) {
            self.retry_successes[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn snapshot(&self) -> Timing {
        Timing {
            to_first_attempt: self.to_first_attempt.snapshot(),
            attempt: self.attempt.snapshot(),
            backoff: self.backoff.snapshot(),
            retries: load(&self.retries),
            retry_successes: load(&self.retry_successes),
        }
    }
}

/// Returns the index of an attempt; `None` for the first attempt, which is not a retry.
fn place_of(number: u32) -> Option<usize> {
    Some((number.checked_sub(2)? as usize).min(LAST_ATTEMPT - 1))
}

fn load(counts: &[AtomicU64]) -> Vec<u64> {
    counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

#[derive(Debug)]
pub struct Histogram {
    /// Upper bounds in milliseconds.
    bounds: &'static [u64],
    /// One count for each bound, and one for values above all of them.
    counts: Box<[AtomicU64]>,
    micros: AtomicU64,
}

/// A histogram as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// The upper bound in seconds, and how many values are in the bucket. The last bucket has no bound.
    pub buckets: Vec<(f64, u64)>,
    pub count: u64,
    /// The sum of all values, in seconds.
    pub sum: f64,
}

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = std::iter::repeat_with(AtomicU64::default).take(bounds.len() + 1).collect();
        Self { bounds, counts, micros: AtomicU64::new(0) }
    }

    /// Creates a histogram with bounds for short durations.
    pub fn quick() -> Self {
        Self::new(QUICK)
    }

    pub fn add(&self, took: Duration) {
        let millis = took.as_micros().div_ceil(1_000) as u64;
        let place = self.bounds.partition_point(|bound| *bound < millis);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    pub fn snapshot(&self) -> Buckets {
        let counts: Vec<u64> =
            self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let bounds = self.bounds.iter().map(|millis| *millis as f64 / 1e3).chain([f64::INFINITY]);
        Buckets {
            count: counts.iter().sum(),
            buckets: bounds.zip(counts).collect(),
            sum: self.micros.load(Ordering::Relaxed) as f64 / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_falls_into_the_bucket_that_holds_it() {
        let histogram = Histogram::new(&[10, 100]);
        for (millis, times) in [(0, 1), (10, 2), (11, 3), (100, 1), (101, 5)] {
            for _ in 0..times {
                histogram.add(Duration::from_millis(millis));
            }
        }
        // A microsecond over a bound is over it.
        histogram.add(Duration::from_micros(10_001));
        let seen = histogram.snapshot();
        assert_eq!(seen.buckets, [(0.01, 3), (0.1, 5), (f64::INFINITY, 5)]);
        assert_eq!(seen.count, 13);
        let sum = 0.020 + 0.033 + 0.1 + 0.505 + 0.010_001;
        assert!((seen.sum - sum).abs() < 1e-9, "{}", seen.sum);
    }

    #[test]
    fn retries_are_counted_by_number_and_capped() {
        let timings = Timings::new();
        for number in [1, 1, 2, 3, 3, 11, 12, 500] {
            timings.count_attempt(number);
        }
        assert_eq!(timings.snapshot().retries, [1, 2, 0, 0, 0, 0, 0, 0, 0, 3]);
    }
}
