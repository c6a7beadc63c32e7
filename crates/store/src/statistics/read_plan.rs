//! Decides which rows a read needs: those of the requested level and, in place of due chunks, those of the
//! level below.

use std::collections::{BTreeMap, BTreeSet};

use gancho_domain::{Figures, Time};

use super::{
    MAX_POINTS, Series, StatisticsPoint, StatisticsStep, StatisticsWindow,
    level::{DueChunk, Level},
};
use crate::{Result, StoreError};

/// Rows of one chunk, for one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadRange {
    pub series: Series,
    pub level: Level,
    pub chunk: Time,
    pub since: Time,
    pub until: Time,
    /// The step of the points that the rows are summed to.
    sum_to: StatisticsStep,
}

/// What to read for a window, and the sums of what was read.
pub struct ReadPlan {
    pub ranges: Vec<ReadRange>,
    sums: BTreeMap<(Series, Time), Figures>,
}

/// Refuses a read that would return too many points.
pub fn check_size(series: usize, window: &StatisticsWindow) -> Result<()> {
    let points = series.saturating_mul(window.points());
    if points <= MAX_POINTS {
        return Ok(());
    }
    Err(StoreError::Invalid(format!(
        "a read of {points} points of statistics, of which {MAX_POINTS} are allowed"
    )))
}

impl ReadPlan {
    pub fn new(series: &[Series], window: &StatisticsWindow, due: &[DueChunk]) -> Self {
        let mut ranges = Vec::new();
        for series in series {
            plan(*series, window, due, window.step, &mut ranges);
        }
        Self { ranges, sums: BTreeMap::new() }
    }

    /// Adds a row that was read for a range.
    pub fn add(&mut self, range: &ReadRange, at: Time, figures: &Figures) {
        let key = (range.series, range.sum_to.floor(at));
        self.sums.entry(key).or_default().merge(figures);
    }

    /// Returns the points in the order of series and time.
    pub fn into_points(self) -> Vec<StatisticsPoint> {
        let point = |((series, at), figures)| StatisticsPoint { series, at, figures };
        self.sums.into_iter().map(point).collect()
    }
}

fn plan(
    series: Series,
    window: &StatisticsWindow,
    due: &[DueChunk],
    sum_to: StatisticsStep,
    ranges: &mut Vec<ReadRange>,
) {
    let level = Level::of(window.step, &series);
    let replaced = due_units(window, &series, due);
    let chunk_length = level.chunk_step().length();
    let mut chunk = level.chunk_step().floor(window.since);
    while chunk < window.until {
        let (mut since, end) = (chunk.max(window.since), (chunk + chunk_length).min(window.until));
        for unit in replaced.range(chunk..end) {
            if since < *unit {
                ranges.push(ReadRange { series, level, chunk, since, until: *unit, sum_to });
            }
            since = *unit + window.step.length();
        }
        if since < end {
            ranges.push(ReadRange { series, level, chunk, since, until: end, sum_to });
        }
        chunk = chunk + chunk_length;
    }
    let below = match window.step {
        StatisticsStep::Minute => return,
        StatisticsStep::Hour => StatisticsStep::Minute,
        StatisticsStep::Day => StatisticsStep::Hour,
    };
    for unit in replaced.range(window.since..) {
        let until = *unit + window.step.length();
        let inside = StatisticsWindow { step: below, since: *unit, until };
        plan(series, &inside, due, sum_to, ranges);
    }
}

/// Returns hours or days of the window whose rows are not up to date.
fn due_units(window: &StatisticsWindow, series: &Series, due: &[DueChunk]) -> BTreeSet<Time> {
    let minutes = Level::of(StatisticsStep::Minute, series);
    let concerns = |level: Level| match window.step {
        StatisticsStep::Minute => false,
        StatisticsStep::Hour => level == minutes,
        StatisticsStep::Day => level == minutes || level == Level::Hour,
    };
    due.iter()
        .filter(|due| concerns(due.level))
        .map(|due| window.step.floor(due.chunk))
        .filter(|unit| (window.since..window.until).contains(unit))
        .collect()
}

#[cfg(test)]
mod tests {
    use gancho_domain::Lane;

    use super::*;

    const SERIES: Series = Series::of_gateway(Lane::Webhook);

    fn hours(count: i64) -> Time {
        Time::from_secs(count * 3_600)
    }

    fn ranges(window: StatisticsWindow, due: &[(Level, Time)]) -> Vec<(Level, Time, Time, Time)> {
        let due = due.iter().map(|(level, chunk)| DueChunk {
            level: *level,
            chunk: *chunk,
            version: 1,
            place: None,
        });
        let plan = ReadPlan::new(&[SERIES], &window, &due.collect::<Vec<_>>());
        plan.ranges.iter().map(|one| (one.level, one.chunk, one.since, one.until)).collect()
    }

    #[test]
    fn minutes_are_read_hour_by_hour() {
        let window = StatisticsWindow {
            step: StatisticsStep::Minute,
            since: Time::from_secs(3_000),
            until: Time::from_secs(4_000),
        };
        let (first, second) = (Time::from_secs(3_000), Time::from_secs(4_000));
        assert_eq!(
            ranges(window, &[(Level::WideMinute, hours(0))]),
            [
                (Level::WideMinute, hours(0), first, hours(1)),
                (Level::WideMinute, hours(1), hours(1), second),
            ]
        );
    }

    #[test]
    fn an_hour_that_is_due_is_read_from_its_minutes() {
        let window =
            StatisticsWindow { step: StatisticsStep::Hour, since: hours(20), until: hours(26) };
        assert_eq!(
            // Minutes of targets do not concern the gateway.
            ranges(window, &[(Level::WideMinute, hours(22)), (Level::TargetMinute, hours(21))]),
            [
                (Level::Hour, hours(0), hours(20), hours(22)),
                (Level::Hour, hours(0), hours(23), hours(24)),
                (Level::Hour, hours(24), hours(24), hours(26)),
                (Level::WideMinute, hours(22), hours(22), hours(23)),
            ]
        );
    }

    #[test]
    fn a_day_with_an_hour_that_is_due_is_read_from_hours_and_minutes() {
        let window =
            StatisticsWindow { step: StatisticsStep::Day, since: hours(0), until: hours(72) };
        assert_eq!(
            ranges(window, &[(Level::Hour, hours(24)), (Level::WideMinute, hours(71))]),
            [
                (Level::Day, hours(0), hours(0), hours(24)),
                (Level::Hour, hours(24), hours(24), hours(48)),
                (Level::Hour, hours(48), hours(48), hours(71)),
                (Level::WideMinute, hours(71), hours(71), hours(72)),
            ]
        );
    }

    #[test]
    fn rows_are_summed_to_the_step_that_was_asked_for() {
        let window =
            StatisticsWindow { step: StatisticsStep::Day, since: hours(0), until: hours(24) };
        let due = DueChunk { level: Level::WideMinute, chunk: hours(3), version: 1, place: None };
        let mut plan = ReadPlan::new(&[SERIES], &window, &[due]);
        let one = Figures { accepted: 1, ..Figures::default() };
        for range in plan.ranges.clone() {
            plan.add(&range, range.since, &one);
        }
        let points = plan.into_points();
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].at, points[0].figures.accepted), (hours(0), 3));
    }

    #[test]
    fn a_read_that_is_too_large_is_refused() {
        let window =
            StatisticsWindow { step: StatisticsStep::Hour, since: hours(0), until: hours(24) };
        assert!(check_size(50, &window).is_ok());
        assert!(matches!(check_size(500, &window), Err(StoreError::Invalid(_))));
    }
}
