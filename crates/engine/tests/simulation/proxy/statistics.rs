//! Statistics that nodes have counted. Reads do not pass the tap, because the engine makes none.

use async_trait::async_trait;
use gancho_domain::{Lane, TenantScope, Time};
use gancho_store::{
    FailingTarget, Result, Statistics, StatisticsBatch, StatisticsPoint, StatisticsWindow,
    TargetId, statistics::without_success::WithoutSuccessQuery,
};

use super::{Proxy, through};
use crate::tap::Step;

#[async_trait]
impl Statistics for Proxy {
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()> {
        through!(self, Upkeep, self.inner.write_statistics(batch, now))
    }

    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool> {
        through!(self, Upkeep, self.inner.roll_up_statistics(max, now))
    }

    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        self.inner.tenant_statistics(scope, of, window).await
    }

    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        self.inner.gateway_statistics(lanes, window).await
    }

    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        self.inner.failing_targets(scope, lane, until, max).await
    }

    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        self.inner.failing_targets_of_all(lane, until, max).await
    }

    async fn targets_without_success(&self, of: WithoutSuccessQuery) -> Result<Vec<FailingTarget>> {
        self.inner.targets_without_success(of).await
    }
}
