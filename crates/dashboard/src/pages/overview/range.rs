//! The ranges of time that the overview shows.

use std::{fmt, time::Duration};

use http::StatusCode;

use crate::{display_time::DisplayTime, params::Params, problem::Problem, texts::Texts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    QuarterHour,
    Hour,
    SixHours,
    Day,
    Week,
    Month,
}

impl Range {
    pub const ALL: [Self; 6] =
        [Self::QuarterHour, Self::Hour, Self::SixHours, Self::Day, Self::Week, Self::Month];

    /// Returns the range that the URL names. Default: six hours.
    pub fn read(params: &Params) -> Result<Self, Problem> {
        let Some(name) = params.get("range") else { return Ok(Self::SixHours) };
        let unknown = || Problem::new(StatusCode::BAD_REQUEST, "unknown_range", "");
        Self::named(name).ok_or_else(unknown)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.name() == name)
    }

    /// Returns the time of a bin: with its day, if the range has several.
    pub fn clock(self, t: &Texts, at: &DisplayTime) -> String {
        match self {
            Self::Week | Self::Month => at.day_and_clock(t),
            _ => at.clock(),
        }
    }

    /// Returns the name in the URL and in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QuarterHour => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    pub const fn length(self) -> Duration {
        match self {
            Self::QuarterHour => Duration::from_mins(15),
            Self::Hour => Duration::from_hours(1),
            Self::SixHours => Duration::from_hours(6),
            Self::Day => Duration::from_hours(24),
            Self::Week => Duration::from_hours(24 * 7),
            Self::Month => Duration::from_hours(24 * 30),
        }
    }

    /// Returns a range of the API that contains this one and the one before, and its step.
    pub const fn wider(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::QuarterHour => Some(("1h", "1m")),
            Self::Hour => Some(("6h", "5m")),
            Self::SixHours => Some(("24h", "15m")),
            Self::Day => Some(("7d", "1h")),
            Self::Week => Some(("30d", "8h")),
            Self::Month => None,
        }
    }

    /// Returns the intervals between the labels of the axis.
    pub const fn intervals(self) -> u32 {
        match self {
            Self::QuarterHour | Self::Month => 5,
            Self::Hour | Self::SixHours | Self::Day => 6,
            Self::Week => 7,
        }
    }
}

/// The same in all languages.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QuarterHour => "15 min",
            Self::Hour => "1 h",
            Self::SixHours => "6 h",
            Self::Day => "24 h",
            Self::Week => "7 d",
            Self::Month => "30 d",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_from_the_address() {
        for range in Range::ALL {
            let params = Params::parse(&format!("range={}", range.name()));
            assert_eq!(Range::read(&params).unwrap(), range);
        }
        assert_eq!(Range::read(&Params::default()).unwrap(), Range::SixHours);
        assert_eq!(Range::read(&Params::parse("range=2h")).unwrap_err().status, 400);
    }
}
