//! How rows of statistics are grouped and how long they are stored.
//!
//! Rows of a level are ordered by chunk, series and time. An hour's minutes of a series are adjacent, so that
//! they are read and rolled up together; chunks that are too old are adjacent, so that they are pruned
//! together. Minutes of targets have their own level, because they are removed earlier.

use std::time::Duration;

use gancho_domain::{Id, Lane, Time};

use super::{Series, StatisticsStep};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    TargetMinute,
    /// Minutes of tenants and of the gateway.
    WideMinute,
    Hour,
    Day,
}

/// [`Level::TargetMinute`] for the text of statements, because its index is a partial one.
pub const TARGET_MINUTE: i16 = Level::TargetMinute.number();

/// How long after its end an hour or a day is rolled up, because nodes write their last minute a little
/// later.
const GRACE: Duration = Duration::from_mins(2);
/// A plot of six hours in steps of minutes starts up to an hour earlier.
const TARGET_MINUTES_KEPT: Duration = Duration::from_hours(7);
const WIDE_MINUTES_KEPT: Duration = Duration::from_hours(48);

impl Level {
    pub const ALL: [Self; 4] = [Self::TargetMinute, Self::WideMinute, Self::Hour, Self::Day];

    /// The number of the level in the stores. Never reused, never changed.
    pub const fn number(self) -> i16 {
        match self {
            Self::TargetMinute => 2,
            Self::WideMinute => 3,
            Self::Hour => 4,
            Self::Day => 5,
        }
    }

    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.number() == number)
    }

    pub const fn of(step: StatisticsStep, series: &Series) -> Self {
        match (step, series.target) {
            (StatisticsStep::Minute, Some(_)) => Self::TargetMinute,
            (StatisticsStep::Minute, None) => Self::WideMinute,
            (StatisticsStep::Hour, _) => Self::Hour,
            (StatisticsStep::Day, _) => Self::Day,
        }
    }

    pub const fn step(self) -> StatisticsStep {
        match self {
            Self::TargetMinute | Self::WideMinute => StatisticsStep::Minute,
            Self::Hour => StatisticsStep::Hour,
            Self::Day => StatisticsStep::Day,
        }
    }

    /// Returns the length of a chunk, which is what its rows are rolled up to.
    pub const fn chunk_step(self) -> StatisticsStep {
        match self {
            Self::TargetMinute | Self::WideMinute => StatisticsStep::Hour,
            Self::Hour | Self::Day => StatisticsStep::Day,
        }
    }

    /// Returns the level that a chunk of this one is rolled up to.
    pub const fn above(self) -> Option<Self> {
        match self {
            Self::TargetMinute | Self::WideMinute => Some(Self::Hour),
            Self::Hour => Some(Self::Day),
            Self::Day => None,
        }
    }

    /// Whether a chunk is over and can be rolled up.
    pub fn is_over(self, chunk: Time, now: Time) -> bool {
        chunk + self.chunk_step().length() + GRACE <= now
    }

    /// Returns the start of the retention: chunks that begin earlier are removed. `before` is the end of the
    /// retention of deliveries.
    pub fn kept_from(self, before: Time, now: Time) -> Time {
        let from = match self {
            Self::TargetMinute => now - TARGET_MINUTES_KEPT,
            Self::WideMinute => now - WIDE_MINUTES_KEPT,
            Self::Hour | Self::Day => before,
        };
        self.chunk_step().floor(from)
    }
}

/// A chunk whose rows have changed since they were rolled up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueChunk {
    pub level: Level,
    pub chunk: Time,
    /// Rises with every change, so that a chunk that changed during a roll-up stays due.
    pub version: i64,
    /// The last series that was rolled up.
    pub place: Option<SeriesKey>,
}

/// The tenant, the target and the lane of a series, as columns. Zeros mean that there is none.
pub type SeriesKey = ([u8; 16], [u8; 16], i16);

impl Series {
    pub fn key(&self) -> SeriesKey {
        let tenant = self.tenant.map_or([0; 16], Id::bytes);
        (tenant, self.target.map_or([0; 16], Id::bytes), self.lane.number())
    }

    /// Returns the series; `None` if the lane is unknown.
    pub fn from_key((tenant, target, lane): SeriesKey) -> Option<Self> {
        let lane = Lane::from_number(lane)?;
        let tenant = (tenant != [0; 16]).then(|| Id::from_bytes(tenant));
        let target = (target != [0; 16]).then(|| Id::from_bytes(target));
        Some(Self { tenant, target, lane })
    }
}

/// Encodes a position for storage.
pub fn place_to_bytes((tenant, target, lane): SeriesKey) -> Vec<u8> {
    [&tenant[..], &target, &lane.to_be_bytes()].concat()
}

/// Decodes a position; `None` if it is invalid, and the roll-up starts over.
pub fn place_from_bytes(bytes: &[u8]) -> Option<SeriesKey> {
    let (tenant, rest) = bytes.split_first_chunk()?;
    let (target, rest) = rest.split_first_chunk()?;
    Some((*tenant, *target, i16::from_be_bytes(rest.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use gancho_domain::{EndpointId, TenantId};

    use super::*;

    #[test]
    fn keys_and_places_read_back() {
        let (tenant, target) = (TenantId::from_bits(7), EndpointId::from_bits(9));
        for series in [
            Series::of_gateway(Lane::Email),
            Series::of_tenant(tenant, Lane::Webhook),
            Series::of_target(tenant, target, Lane::Dispatch),
        ] {
            assert_eq!(Series::from_key(series.key()), Some(series));
            assert_eq!(place_from_bytes(&place_to_bytes(series.key())), Some(series.key()));
        }
        assert_eq!(Series::from_key(([0; 16], [0; 16], 99)), None);
        assert_eq!(place_from_bytes(&[1, 2, 3]), None);
    }

    #[test]
    fn what_is_late_is_still_there_to_be_rolled_up() {
        let now = Time::from_secs(1_760_000_000);
        let late = Level::TargetMinute.chunk_step().floor(now - super::super::MAX_LATE);
        for level in [Level::TargetMinute, Level::WideMinute] {
            assert!(level.kept_from(now, now) < late);
        }
        assert!(!Level::Hour.is_over(StatisticsStep::Day.floor(now), now));
        assert!(Level::WideMinute.is_over(now - Duration::from_mins(62), now));
        assert!(!Level::WideMinute.is_over(now - Duration::from_mins(61), now));
    }
}
