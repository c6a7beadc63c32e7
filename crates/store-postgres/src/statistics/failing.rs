//! Finds failing targets by an index of failed attempts, minute by minute.

use std::collections::BTreeMap;

use gancho_domain::{Lane, TenantId, Time};
use gancho_store::{
    FailingTarget, Result, StatisticsStep, TargetId,
    states::Sql,
    statistics::{FAILING_WINDOW, level::TARGET_MINUTE, without_success::WithoutSuccessQuery},
};
use tokio_postgres::types::ToSql;

use crate::{
    PostgresStore,
    rows::{self, uuid},
    session::query,
    tx_error::store_error,
};

pub(crate) static FAILING: Sql = Sql::new(|| {
    format!(
        "
select s.tenant_id, s.target_id, s.failed from unnest($2::int8[]) as k(at)
cross join lateral (
    select s.tenant_id, s.target_id, s.failed from statistics s
    where s.level = {TARGET_MINUTE} and s.failed > 0 and s.lane = $1 and s.at = k.at
    order by s.failed desc limit $3) s"
    )
});

pub(crate) static FAILING_OF_TENANT: Sql = Sql::new(|| {
    format!(
        "
select s.tenant_id, s.target_id, s.failed from unnest($2::int8[]) as k(at)
cross join lateral (
    select s.tenant_id, s.target_id, s.failed from statistics s
    where s.level = {TARGET_MINUTE} and s.failed > 0 and s.tenant_id = $4 and s.lane = $1 and s.at = k.at
    order by s.failed desc limit $3) s"
    )
});

/// Returns every target with enough failed attempts, whether others succeeded or not.
pub(crate) static ALL_FAILING: Sql = Sql::new(|| {
    format!(
        "
select tenant_id, target_id, sum(failed)::int8 from statistics
where level = {TARGET_MINUTE} and failed > 0 and lane = $1 and at >= $2 and at < $3
group by tenant_id, target_id having sum(failed) >= $4::int8"
    )
});

impl PostgresStore {
    pub(super) async fn all_failing(&self, of: &WithoutSuccessQuery) -> Result<Vec<FailingTarget>> {
        let session = self.lists.next(None).await?;
        let (since, until) = (of.since.secs(), of.until.secs());
        let (lane, min) = (of.lane.number(), of.min_attempts as i64);
        let values: [&(dyn ToSql + Sync); 4] = [&lane, &since, &until, &min];
        let found = query(&session, &ALL_FAILING, &values).await.map_err(store_error)?;
        let mut failing = Vec::new();
        for row in found {
            let (tenant, target) = (rows::id(&row, 0)?, rows::id(&row, 1)?);
            let failed_attempts = rows::get::<i64>(&row, 2)? as u64;
            failing.push(FailingTarget { tenant, target, failed_attempts });
        }
        Ok(failing)
    }

    /// Returns the worst rows of each minute, added up.
    pub(super) async fn failing(
        &self,
        tenant: Option<TenantId>,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        let session = self.lists.next(tenant).await?;
        let step = StatisticsStep::Minute;
        let first = step.floor(until - FAILING_WINDOW).secs();
        let minutes: Vec<i64> =
            (first..until.secs()).step_by(step.length().as_secs() as usize).collect();
        let (lane, limit) = (lane.number(), max as i64);
        let found = match tenant.map(uuid) {
            None => query(&session, &FAILING, &[&lane, &minutes, &limit]).await,
            Some(tenant) => {
                let values: [&(dyn ToSql + Sync); 4] = [&lane, &minutes, &limit, &tenant];
                query(&session, &FAILING_OF_TENANT, &values).await
            }
        };
        let mut sums: BTreeMap<(TenantId, TargetId), u64> = BTreeMap::new();
        for row in found.map_err(store_error)? {
            let key = (rows::id(&row, 0)?, rows::id(&row, 1)?);
            *sums.entry(key).or_default() += rows::get::<i64>(&row, 2)? as u64;
        }
        let target =
            |((tenant, target), failed_attempts)| FailingTarget { tenant, target, failed_attempts };
        let mut failing: Vec<_> = sums.into_iter().map(target).collect();
        failing.sort_by_key(|one| std::cmp::Reverse(one.failed_attempts));
        failing.truncate(max);
        Ok(failing)
    }
}
