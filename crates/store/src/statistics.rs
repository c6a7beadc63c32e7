//! Statistics: what happened to deliveries, per minute, hour and day, for the gateway, each tenant and each
//! target. Nodes count, write what they counted, and readers add up: no read of them scans deliveries.
//!
//! A row of a minute belongs to the node that wrote it and holds all that the node counted in that minute, so
//! that writing it again changes nothing and no two nodes write the same row. An hour is rolled up from its
//! minutes once it is over, a day from its hours. Until then, and again when a late minute arrives, the hour
//! is *due*, and readers take its minutes instead: a read is exact at all times.
//!
//! [`level`] says how rows are grouped and how long they are kept, [`read_plan`] which rows a read needs, and
//! [`figures_codec`] how counts are stored. Both stores share them.

pub mod figures_codec;
pub mod level;
pub mod read_plan;
pub mod without_success;

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Figures, Lane, TenantId, TenantScope, Time};

use self::without_success::NoSuccess;
use crate::{NodeId, Result, TargetId};

/// Whose figures: of the gateway, a tenant or a target, in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    tenant: Option<TenantId>,
    target: Option<TargetId>,
    lane: Lane,
}

impl Series {
    pub const fn of_gateway(lane: Lane) -> Self {
        Self { tenant: None, target: None, lane }
    }

    pub const fn of_tenant(tenant: TenantId, lane: Lane) -> Self {
        Self { tenant: Some(tenant), target: None, lane }
    }

    pub const fn of_target(tenant: TenantId, target: TargetId, lane: Lane) -> Self {
        Self { tenant: Some(tenant), target: Some(target), lane }
    }

    /// Of a target, or of the whole tenant.
    pub const fn within(tenant: TenantId, (target, lane): (Option<TargetId>, Lane)) -> Self {
        Self { tenant: Some(tenant), target, lane }
    }

    pub const fn tenant(&self) -> Option<TenantId> {
        self.tenant
    }

    pub const fn target(&self) -> Option<TargetId> {
        self.target
    }

    pub const fn lane(&self) -> Lane {
        self.lane
    }
}

/// What a node counted for a series in one minute, from the beginning of that minute on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteFigures {
    pub series: Series,
    /// The beginning of the minute.
    pub minute: Time,
    pub figures: Figures,
}

/// Rows of one node.
#[derive(Debug, Clone)]
pub struct StatisticsBatch {
    pub node: NodeId,
    /// How often the clock of the node was set back: a minute that comes again has other rows.
    pub part: u32,
    pub rows: Vec<MinuteFigures>,
}

/// The length of one point of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatisticsStep {
    Minute,
    Hour,
    Day,
}

impl StatisticsStep {
    pub const fn length(self) -> Duration {
        match self {
            Self::Minute => Duration::from_mins(1),
            Self::Hour => Duration::from_hours(1),
            Self::Day => Duration::from_hours(24),
        }
    }

    /// The beginning of the minute, hour or day (UTC) that holds a time.
    pub const fn floor(self, time: Time) -> Time {
        let secs = self.length().as_secs() as i64;
        Time::from_secs(time.secs().div_euclid(secs) * secs)
    }
}

/// Which minutes, hours or days: those that begin at or after `since` and before `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatisticsWindow {
    pub step: StatisticsStep,
    pub since: Time,
    pub until: Time,
}

impl StatisticsWindow {
    pub fn points(&self) -> usize {
        let length = self.step.length().as_secs();
        let first = self.step.floor(self.since);
        let first = if first < self.since { first + self.step.length() } else { first };
        self.until.since(first).as_secs().div_ceil(length) as usize
    }
}

/// The figures of a series in one minute, hour or day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatisticsPoint {
    pub series: Series,
    pub at: Time,
    pub figures: Figures,
}

/// A target with failed attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingTarget {
    pub tenant: TenantId,
    pub target: TargetId,
    /// In those minutes in which it was among the worst.
    pub failed_attempts: u64,
}

/// Maximum points of one read: series times minutes, hours or days. A store refuses more.
pub const MAX_POINTS: usize = 5_000;
/// Maximum rows of one [`Statistics::write_statistics`], so that it delays no other call.
pub const MAX_BATCH: usize = 500;
/// A minute that is written later than this is not counted.
pub const MAX_LATE: Duration = Duration::from_hours(3);
/// How far back [`Statistics::failing_targets`] looks.
pub const FAILING_WINDOW: Duration = Duration::from_hours(1);

#[async_trait]
pub trait Statistics: Send + Sync + 'static {
    /// Writes what a node counted, in place of what it wrote for the same series and minutes before. Rows
    /// that are older than [`MAX_LATE`] are left out.
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()>;

    /// One step of rolling up what is due and over at `now`: at most `max` series. Returns whether there is
    /// more to do. Repeating it, or doing it on several nodes at once, changes nothing.
    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool>;

    /// The figures of a tenant as a whole (`None`) or of its targets, summed over nodes. Points without
    /// figures are left out. Fails with [`crate::StoreError::Invalid`] for more than [`MAX_POINTS`].
    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>>;

    /// The same of the whole gateway, for the operator.
    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>>;

    /// At most `max` targets of a tenant with failed attempts in the last hour before `until`: those that were
    /// among the `max` worst rows of at least one minute, the worst first.
    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>>;

    /// The same over all tenants, for the operator.
    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>>;

    /// The targets over all tenants of which every attempt failed: the worst of each tenant, then the second of
    /// each, and so on. Reads the rows with failed attempts of these minutes, and the figures of at most
    /// [`without_success::MAX_CHECKED`] targets.
    async fn targets_without_success(&self, of: NoSuccess) -> Result<Vec<FailingTarget>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_those_that_begin_within_the_window() {
        let points = |step, since, until| {
            let (since, until) = (Time::from_secs(since), Time::from_secs(until));
            StatisticsWindow { step, since, until }.points()
        };
        assert_eq!(points(StatisticsStep::Minute, 0, 60), 1);
        assert_eq!(points(StatisticsStep::Minute, 1, 60), 0);
        assert_eq!(points(StatisticsStep::Minute, 1, 61), 1);
        assert_eq!(points(StatisticsStep::Hour, 0, 24 * 3_600), 24);
        assert_eq!(points(StatisticsStep::Day, 0, 1), 1);
        assert_eq!(points(StatisticsStep::Day, 60, 0), 0);
    }
}
