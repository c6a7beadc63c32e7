//! Statistics: what happened to deliveries, per minute, hour and day, for the gateway, each tenant and each
//! target. Nodes count and write their counts, and readers add them up: no read scans deliveries.
//!
//! A row of a minute belongs to the node that wrote it and has everything that the node counted in that
//! minute. So writing it again changes nothing, and no two nodes write the same row. An hour is rolled up
//! from its minutes once it is over, a day from its hours. Until then, and again when a late minute arrives,
//! the hour is *due*, and readers use its minutes instead: a read is always exact.
//!
//! [`level`] says how rows are grouped and how long they are stored, [`read_plan`] which rows a read needs,
//! and [`figures_codec`] how counts are stored. Both stores share them.

pub mod figures_codec;
pub mod level;
pub mod read_plan;
pub mod without_success;

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Figures, Lane, TenantId, TenantScope, Time};

use self::without_success::WithoutSuccessQuery;
use crate::{NodeId, Result, TargetId};

/// What the figures are about: the gateway, a tenant or a target, in one lane.
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

    /// Returns the series of a target, or of the whole tenant.
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

/// What a node counted for a series since the beginning of a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteFigures {
    pub series: Series,
    /// The beginning of the minute.
    pub minute: Time,
    pub figures: Figures,
}

/// Rows that one node writes.
#[derive(Debug, Clone)]
pub struct StatisticsBatch {
    pub node: NodeId,
    /// How often the clock of the node was set back: a repeated minute has separate rows.
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

    /// Returns the beginning of the minute, hour or day (UTC) that contains a time.
    pub const fn floor(self, time: Time) -> Time {
        let secs = self.length().as_secs() as i64;
        Time::from_secs(time.secs().div_euclid(secs) * secs)
    }
}

/// The minutes, hours or days that begin at or after `since` and before `until`.
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
    /// Its failed attempts in the minutes in which it was among the worst.
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
    /// Writes what a node counted, in place of what it wrote for the same series and minutes before. Ignores
    /// rows that are older than [`MAX_LATE`].
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()>;

    /// Runs one step of rolling up what is due and over at `now`: at most `max` series. Returns whether there
    /// is more to do. Repeating it, or running it on several nodes at once, changes nothing.
    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool>;

    /// Returns the figures of a tenant as a whole (`None`) or of its targets, summed over nodes, without
    /// points that have no figures. Fails with [`crate::StoreError::Invalid`] for more than [`MAX_POINTS`].
    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>>;

    /// Returns the same for the whole gateway, for the operator.
    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>>;

    /// Returns at most `max` targets of a tenant with failed attempts in the last hour before `until`: those
    /// that were among the `max` worst rows of at least one minute, the worst first.
    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>>;

    /// Returns the same over all tenants, for the operator.
    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>>;

    /// Returns the targets of all tenants whose every attempt failed: the worst of each tenant, then the
    /// second of each, and so on. Reads the rows with failed attempts of these minutes, and the figures of at
    /// most [`without_success::MAX_CHECKED`] targets.
    async fn targets_without_success(&self, of: WithoutSuccessQuery) -> Result<Vec<FailingTarget>>;
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
