//! Divides a range of time into bins of equal length, and chooses what to read for them.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use gancho_domain::{
    Figures, Time,
    span::{self, DurationParseError},
};
use gancho_store::{StatisticsPoint, StatisticsStep, StatisticsWindow};

use crate::{input::request, problem::Problem};

/// Maximum bins of a response: seven days by hour.
const MAX_BINS: u64 = 168;
/// The longest range that the stored minutes of a webhook cover.
const MAX_RANGE_OF_WEBHOOK_MINUTES: Duration = Duration::from_hours(6);
/// The longest that can be read at once from minutes of tenants and of the gateway.
const MAX_RANGE_OF_MINUTES: Duration = Duration::from_hours(24);

/// One of the lengths that a parameter allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length(pub Duration);

impl FromStr for Length {
    type Err = DurationParseError;

    fn from_str(text: &str) -> Result<Self, DurationParseError> {
        span::parse(text).map(Self)
    }
}

request! {
    /// The range of statistics and its steps.
    pub struct RangeQuery {
        /// How far back, up to now. Default: `24h`.
        optional range: Length as choice(&["15m", "1h", "6h", "24h", "7d", "30d"]),
        /// Length of a bin. Default: a step that divides the range into at most 96 bins. At most 168 bins; steps
        /// below `1h` are available for ranges up to `24h`, and of a webhook up to `6h`.
        optional step: Length as choice(&["1m", "5m", "15m", "30m", "1h", "2h", "6h", "8h", "12h", "1d"]),
    }
}

/// Consecutive bins up to now, the last of which is not over yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinPlan {
    pub range: Duration,
    pub step: Duration,
    pub since: Time,
    pub until: Time,
}

impl BinPlan {
    pub fn new(query: &RangeQuery, is_webhook: bool, now: Time) -> Result<Self, Problem> {
        let range = query.range.map_or(Duration::from_hours(24), |range| range.0);
        let step = query.step.map_or_else(|| default_step(range, is_webhook), |step| step.0);
        let max_range =
            if is_webhook { MAX_RANGE_OF_WEBHOOK_MINUTES } else { MAX_RANGE_OF_MINUTES };
        let words = (span::write(range), span::write(step), span::write(max_range));
        let (range_word, step_word, max_word) = words;
        let refuse = |reason: String| Err(Problem::field("", reason));
        if step > range {
            return refuse(format!(
                "`step` ({step_word}) is longer than `range` ({range_word}); use a shorter step"
            ));
        }
        if step < Duration::from_hours(1) && range > max_range {
            return refuse(format!(
                "steps below 1h are available for ranges up to {max_word} here; use `step=1h` or longer"
            ));
        }
        if range.as_secs() / step.as_secs() > MAX_BINS {
            return refuse(format!(
                "`range={range_word}` in steps of {step_word} is more than {MAX_BINS} bins; use a longer step"
            ));
        }
        Ok(Self::of(range, step, now))
    }

    pub fn of(range: Duration, step: Duration, now: Time) -> Self {
        let secs = step.as_secs() as i64;
        let until = Time::from_secs((now.secs().div_euclid(secs) + 1) * secs);
        Self { range, step, since: until - range, until }
    }

    /// The range as it is given in a request.
    pub fn range_word(&self) -> String {
        let is_day = self.range == Duration::from_hours(24);
        if is_day { "24h".to_owned() } else { span::write(self.range) }
    }

    /// What to read: the longest step of the store that divides the bins.
    pub fn window(&self) -> StatisticsWindow {
        let fits =
            |step: &StatisticsStep| self.step.as_secs().is_multiple_of(step.length().as_secs());
        let steps = [StatisticsStep::Day, StatisticsStep::Hour];
        let step = steps.into_iter().find(fits).unwrap_or(StatisticsStep::Minute);
        StatisticsWindow { step, since: self.since, until: self.until }
    }

    /// The start and the figures of each bin, zeros included.
    pub fn fill<'a>(
        &self,
        points: impl IntoIterator<Item = &'a StatisticsPoint>,
    ) -> Vec<(Time, Figures)> {
        let secs = self.step.as_secs();
        let count = self.until.since(self.since).as_secs() / secs;
        let mut bins: BTreeMap<u64, Figures> =
            (0..count).map(|bin| (bin, Figures::default())).collect();
        for point in points {
            if let Some(bin) = bins.get_mut(&(point.at.since(self.since).as_secs() / secs)) {
                bin.merge(&point.figures);
            }
        }
        let start = |(bin, figures)| (self.since + Duration::from_secs(bin * secs), figures);
        bins.into_iter().map(start).collect()
    }
}

fn default_step(range: Duration, is_webhook: bool) -> Duration {
    let minutes = match range.as_secs() / 60 {
        0..=60 => 1,
        61..=360 => 5,
        361..=1_440 if is_webhook => 60,
        361..=1_440 => 15,
        1_441..=10_080 => 120,
        _ => 480,
    };
    Duration::from_mins(minutes)
}

#[cfg(test)]
mod tests {
    use gancho_domain::Lane;
    use gancho_store::{Series, statistics::MAX_POINTS};

    use super::*;

    const NOW: Time = Time::from_secs(1_760_000_000);

    fn plan(range: &str, step: Option<&str>, is_webhook: bool) -> Result<BinPlan, Problem> {
        let length = |text: &str| text.parse().unwrap();
        let query = RangeQuery { range: Some(length(range)), step: step.map(length) };
        BinPlan::new(&query, is_webhook, NOW)
    }

    #[test]
    fn every_range_has_a_step_and_can_be_read_at_once() {
        for is_webhook in [false, true] {
            for (range, bins) in
                [("15m", 15), ("1h", 60), ("6h", 72), ("24h", 96), ("7d", 84), ("30d", 90)]
            {
                let plan = plan(range, None, is_webhook).unwrap();
                let bins = if is_webhook && range == "24h" { 24 } else { bins };
                assert_eq!(plan.fill([]).len(), bins, "{range}");
                assert!(plan.since <= NOW && NOW < plan.until);
                assert!(Lane::ALL.len() * plan.window().points() <= MAX_POINTS, "{range}");
            }
        }
        assert_eq!(plan("7d", Some("1h"), true).unwrap().fill([]).len(), 168);
        assert_eq!(plan("30d", Some("1d"), true).unwrap().window().step, StatisticsStep::Day);
    }

    #[test]
    fn steps_that_do_not_fit_are_refused() {
        for (range, step, is_webhook) in [
            ("15m", "1h", false),
            ("24h", "30m", true),
            ("7d", "30m", false),
            ("24h", "5m", false),
            ("30d", "2h", false),
        ] {
            assert!(plan(range, Some(step), is_webhook).is_err(), "{range} {step}");
        }
    }

    #[test]
    fn points_fall_into_their_bins() {
        let plan = plan("1h", Some("5m"), false).unwrap();
        let point = |at| StatisticsPoint {
            series: Series::of_gateway(Lane::Webhook),
            at,
            figures: Figures { accepted: 1, ..Figures::default() },
        };
        let last = plan.until - Duration::from_mins(1);
        let points = [point(plan.since), point(last), point(last), point(plan.until)];
        let bins = plan.fill(&points);
        assert_eq!(bins[0], (plan.since, points[0].figures));
        assert_eq!(bins[11].1.accepted, 2);
        assert_eq!(bins.iter().map(|bin| bin.1.accepted).sum::<u64>(), 3);
    }
}
