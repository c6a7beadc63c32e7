//! Durations counted in fixed buckets, from which percentiles are estimated. Histograms of the same bounds
//! can be added up, over minutes, nodes and targets; percentiles cannot.

use std::time::Duration;

/// Upper bounds of the buckets in milliseconds. They are stored by position: never reorder them, only append.
pub const BOUNDS_MS: [u64; 24] = [
    1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 250, 350, 500, 750, 1_000, 1_500, 2_500, 5_000, 10_000,
    15_000, 30_000, 60_000, 180_000, 600_000,
];

/// One bucket for each bound, and one for everything above.
pub const BUCKETS: usize = BOUNDS_MS.len() + 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyHistogram {
    counts: [u64; BUCKETS],
}

impl LatencyHistogram {
    /// Takes counts in the order of the buckets.
    pub const fn from_counts(counts: [u64; BUCKETS]) -> Self {
        Self { counts }
    }

    pub const fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    pub fn add(&mut self, took: Duration) {
        let millis = took.as_micros().div_ceil(1_000) as u64;
        self.counts[BOUNDS_MS.partition_point(|bound| *bound < millis)] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |total, count| total.saturating_add(*count))
    }

    /// Estimates the duration that a `share` (0.0 to 1.0) of all values stays below, assuming an even spread
    /// within each bucket. Returns at most the last bound, and `None` if nothing was counted.
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = (share.clamp(0.0, 1.0) * total as f64).max(1.0);
        let (mut below, mut lower) = (0.0, 0);
        for (count, upper) in self.counts.iter().zip(BOUNDS_MS) {
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                let part = (rank - below) / count;
                let millis = lower as f64 + (upper - lower) as f64 * part;
                return Some(Duration::from_secs_f64(millis / 1e3));
            }
            below += count;
            lower = upper;
        }
        Some(Duration::from_millis(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        millis.into_iter().for_each(|one| histogram.add(Duration::from_millis(one)));
        histogram
    }

    #[test]
    fn each_falls_into_the_bucket_that_holds_it() {
        let mut histogram = of([0, 1, 2, 600_000, 600_001]);
        histogram.add(Duration::from_micros(1_001));
        let counts = histogram.counts();
        assert_eq!((counts[0], counts[1], counts[23], counts[24]), (2, 2, 1, 1));
        assert_eq!(histogram.total(), 6);
    }

    #[test]
    fn percentiles_are_close_to_the_truth() {
        // Evenly from 1 ms to 1 s: the q-th is q seconds.
        let histogram = of(1..=1_000);
        for (share, expected) in [(0.5, 0.5), (0.95, 0.95), (0.99, 0.99), (1.0, 1.0)] {
            let found = histogram.percentile(share).unwrap().as_secs_f64();
            assert!((found - expected).abs() < 0.01, "{share}: {found}");
        }
        assert_eq!(histogram.percentile(0.0), Some(Duration::from_millis(1)));
    }

    #[test]
    fn nothing_has_no_percentile_and_beyond_the_last_bound_is_the_last_bound() {
        assert_eq!(of([]).percentile(0.5), None);
        assert_eq!(of([10_000_000]).percentile(0.5), Some(Duration::from_mins(10)));
        assert_eq!(of([30]).percentile(0.99), Some(Duration::from_millis(35)));
    }

    #[test]
    fn a_sum_is_as_if_counted_together() {
        let (mut fast, slow) = (of(1..100), of(400..900));
        fast.merge(&slow);
        assert_eq!(fast, of((1..100).chain(400..900)));
    }
}
