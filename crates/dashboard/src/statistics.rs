//! Statistics of deliveries, in the form of the API.

use std::time::Duration;

use gancho_domain::{Time, latency_histogram::BOUNDS_MS, span};
use serde::Deserialize;

use crate::{display_time::DisplayTime, escape::Text};

/// What happened to deliveries in a period.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Figures {
    pub accepted: u64,
    pub attempts: u64,
    pub failed_attempts: u64,
    pub delivered: u64,
    pub delivered_at_first_attempt: u64,
    pub dead_letters: u64,
    /// The share of attempts that succeeded.
    pub success_share: Option<f64>,
    /// The duration of attempts.
    pub response_time: Option<Percentiles>,
    /// The time from acceptance to delivery.
    pub delivery_time: Option<Percentiles>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(from = "ApiPercentiles")]
pub struct Percentiles {
    pub median: Estimate,
    pub p95: Estimate,
    pub p99: Estimate,
}

/// In milliseconds, interpolated within the buckets in which durations are counted.
#[derive(Deserialize)]
struct ApiPercentiles {
    #[serde(rename = "p50_ms")]
    median: f64,
    #[serde(rename = "p95_ms")]
    p95: f64,
    #[serde(rename = "p99_ms")]
    p99: f64,
}

/// A duration as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimate {
    About(f64),
    Under(f64),
    Over(f64),
}

impl Estimate {
    /// Returns where it is drawn.
    pub const fn millis(self) -> f64 {
        match self {
            Self::About(millis) | Self::Under(millis) | Self::Over(millis) => millis,
        }
    }
}

/// If the median and the 99th percentile are in one bucket, their positions in it are unknown: an
/// interpolation would show a spread that was not measured. The same holds for every value in the first
/// bucket.
impl From<ApiPercentiles> for Percentiles {
    fn from(found: ApiPercentiles) -> Self {
        let bucket = |millis: f64| BOUNDS_MS.partition_point(|bound| (*bound as f64) < millis);
        let is_one = bucket(found.median) == bucket(found.p99);
        let estimate = |millis: f64| match bucket(millis) {
            _ if millis >= LAST_BOUND_MS as f64 => Estimate::Over(LAST_BOUND_MS as f64),
            place if place == 0 || is_one => Estimate::Under(BOUNDS_MS[place] as f64),
            _ => Estimate::About(millis),
        };
        Self { median: estimate(found.median), p95: estimate(found.p95), p99: estimate(found.p99) }
    }
}

const LAST_BOUND_MS: u64 = BOUNDS_MS[BOUNDS_MS.len() - 1];

#[derive(Debug, Clone, Deserialize)]
pub struct Bin {
    pub at: DisplayTime,
    #[serde(flatten)]
    pub figures: Figures,
}

/// Consecutive bins up to now, the last of which is not over yet.
#[derive(Deserialize)]
pub struct Stats {
    pub step: String,
    pub since: DisplayTime,
    pub until: DisplayTime,
    pub totals: Figures,
    pub bins: Vec<Bin>,
}

/// The last 24 hours of an endpoint, by hour.
#[derive(Deserialize)]
pub struct EndpointStats {
    pub webhook_id: String,
    pub tenant_id: String,
    /// `None` if the endpoint was deleted.
    pub name: Option<Text>,
    pub totals: Figures,
    pub bins: Vec<Bin>,
}

impl Figures {
    pub fn sum<'a>(bins: impl IntoIterator<Item = &'a Bin>) -> Counts {
        let mut sum = Counts::default();
        for Bin { figures, .. } in bins {
            sum.delivered += figures.delivered;
            sum.delivered_at_first_attempt += figures.delivered_at_first_attempt;
            sum.dead_letters += figures.dead_letters;
        }
        sum
    }

    pub fn counts(&self) -> Counts {
        Counts {
            delivered: self.delivered,
            delivered_at_first_attempt: self.delivered_at_first_attempt,
            dead_letters: self.dead_letters,
        }
    }
}

/// The figures that can be added up, which percentiles cannot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub delivered: u64,
    pub delivered_at_first_attempt: u64,
    pub dead_letters: u64,
}

impl Counts {
    /// Returns how many ended: delivered, or given up.
    pub fn ended(&self) -> u64 {
        self.delivered + self.dead_letters
    }

    /// Returns the share of ended ones that were delivered at the first attempt.
    pub fn first_share(&self) -> Option<f64> {
        let share = self.delivered_at_first_attempt as f64 / self.ended() as f64;
        (self.ended() > 0).then_some(share)
    }
}

impl Stats {
    pub fn step(&self) -> Duration {
        span::parse(&self.step).unwrap_or(Duration::from_mins(1))
    }

    /// Returns how much of the range is over.
    pub fn elapsed(&self, now: Time) -> Duration {
        now.since(self.since.time()).max(Duration::from_secs(1))
    }

    /// Returns the sum of `count` bins that end at or before a time; `None` if there are fewer.
    pub fn before(&self, end: Time, count: usize) -> Option<Counts> {
        let step = self.step();
        let over = self.bins.iter().rposition(|bin| bin.at.time() + step <= end)? + 1;
        Some(Figures::sum(&self.bins[over.checked_sub(count)?..over]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_not_shown() {
        use Estimate::{About, Over, Under};
        let read = |p50: f64, p95: f64, p99: f64| {
            let text = format!(r#"{{"p50_ms": {p50}, "p95_ms": {p95}, "p99_ms": {p99}}}"#);
            let Percentiles { median, p95, p99 } = serde_json::from_str(&text).unwrap();
            [median, p95, p99]
        };
        assert_eq!(read(0.5, 1.0, 1.0), [Under(1.0); 3]);
        assert_eq!(read(27.5, 34.3, 34.9), [Under(35.0); 3]);
        assert_eq!(read(0.6, 4.0, 7.0), [Under(1.0), About(4.0), About(7.0)]);
        assert_eq!(read(20.0, 20.1, 34.9), [About(20.0), About(20.1), About(34.9)]);
        assert_eq!(read(300.0, 6e5, 6e5), [About(300.0), Over(6e5), Over(6e5)]);
    }

    #[test]
    fn what_was_given_up_was_not_delivered_at_the_first_attempt() {
        let counts = Counts { delivered: 3, delivered_at_first_attempt: 2, dead_letters: 1 };
        assert_eq!(counts.first_share(), Some(0.5));
        let lost = Counts { dead_letters: 2, ..Counts::default() };
        assert_eq!(lost.first_share(), Some(0.0));
        assert_eq!(Counts::default().first_share(), None);
    }

    #[test]
    fn the_range_before_ends_where_the_range_starts() {
        let bin = |minute: u64| Bin {
            at: DisplayTime::of(Time::from_secs(0) + Duration::from_mins(5 * minute)),
            figures: Figures { delivered: 1 << minute, ..Figures::default() },
        };
        let stats = Stats {
            step: "5m".to_owned(),
            since: DisplayTime::of(Time::from_secs(0)),
            until: DisplayTime::of(Time::from_secs(1_800)),
            totals: Figures::default(),
            bins: (0..6).map(bin).collect(),
        };
        let end = |minutes| Time::from_secs(0) + Duration::from_mins(minutes);
        let delivered = |end, count| stats.before(end, count).map(|counts| counts.delivered);
        assert_eq!(delivered(end(20), 2), Some(4 + 8));
        assert_eq!(delivered(end(19), 2), Some(2 + 4), "a bin is whole or left out");
        assert_eq!(delivered(end(20), 5), None, "statistics do not reach that far");
        assert_eq!(delivered(end(4), 1), None);
    }
}
