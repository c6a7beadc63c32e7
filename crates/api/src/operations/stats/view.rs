//! Renders figures.

use gancho_domain::{Figures, LatencyHistogram, Time, span};
use serde::Serialize;
use utoipa::ToSchema;

use super::bins::BinPlan;
use crate::render::Timestamp;

/// What happened to deliveries in a period.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryFigures {
    /// Number of deliveries that were created by publishing, receiving and sending e-mail.
    pub accepted: u64,
    /// Number of attempts.
    pub attempts: u64,
    /// Number of attempts that failed.
    pub failed_attempts: u64,
    /// Number of deliveries that succeeded.
    pub delivered: u64,
    /// Number of deliveries that succeeded at their first attempt.
    pub delivered_at_first_attempt: u64,
    /// Number of deliveries that failed permanently.
    pub dead_letters: u64,
    /// Share of attempts that succeeded, from 0 to 1; null without attempts.
    pub success_share: Option<f64>,
    /// Duration of attempts; null without attempts.
    pub response_time: Option<Percentiles>,
    /// Time from acceptance to delivery, without manual retries and replays; null if nothing was delivered.
    pub delivery_time: Option<Percentiles>,
}

/// Estimated percentiles in milliseconds. Durations above ten minutes count as ten minutes.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names in the API")]
pub struct Percentiles {
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

/// Figures of one bin of a range.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatsBin {
    /// When the bin begins.
    pub at: Timestamp,
    #[serde(flatten)]
    pub figures: DeliveryFigures,
}

/// Figures of deliveries over a range of time, up to now.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stats {
    /// Length of the range, e.g. `24h`.
    pub range: String,
    /// Length of each bin, e.g. `15m`.
    pub step: String,
    /// Start of the first bin.
    pub since: Timestamp,
    /// End of the last bin, which is not over yet.
    pub until: Timestamp,
    /// Figures of the whole range.
    pub totals: DeliveryFigures,
    /// Consecutive bins, oldest first, including those without deliveries.
    pub bins: Vec<StatsBin>,
}

impl Stats {
    pub fn of(plan: &BinPlan, bins: &[(Time, Figures)]) -> Self {
        Self {
            range: plan.range_word(),
            step: span::write(plan.step),
            since: Timestamp(plan.since),
            until: Timestamp(plan.until),
            totals: totals(bins),
            bins: render(bins),
        }
    }
}

pub fn totals(bins: &[(Time, Figures)]) -> DeliveryFigures {
    let mut totals = Figures::default();
    for (_, figures) in bins {
        totals.merge(figures);
    }
    DeliveryFigures::of(&totals)
}

pub fn render(bins: &[(Time, Figures)]) -> Vec<StatsBin> {
    let bin = |(at, figures): &(Time, Figures)| StatsBin {
        at: Timestamp(*at),
        figures: DeliveryFigures::of(figures),
    };
    bins.iter().map(bin).collect()
}

impl DeliveryFigures {
    fn of(figures: &Figures) -> Self {
        let attempts = figures.attempts;
        let succeeded = attempts.saturating_sub(figures.failed_attempts);
        Self {
            accepted: figures.accepted,
            attempts,
            failed_attempts: figures.failed_attempts,
            delivered: figures.delivered,
            delivered_at_first_attempt: figures.delivered_first,
            dead_letters: figures.dead_letters,
            success_share: (attempts > 0).then(|| round(succeeded as f64 / attempts as f64, 1e4)),
            response_time: Percentiles::of(&figures.response_time),
            delivery_time: Percentiles::of(&figures.delivery_time),
        }
    }
}

impl Percentiles {
    fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let millis =
            |share| histogram.percentile(share).map(|took| round(took.as_secs_f64() * 1e3, 10.0));
        Some(Self { p50_ms: millis(0.5)?, p95_ms: millis(0.95)?, p99_ms: millis(0.99)? })
    }
}

fn round(number: f64, digits: f64) -> f64 {
    (number * digits).round() / digits
}
