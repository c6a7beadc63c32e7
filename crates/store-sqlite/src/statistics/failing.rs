//! Finds failing targets by an index of failed attempts, minute by minute.

use std::collections::BTreeMap;

use gancho_domain::{Lane, TenantId, Time};
use gancho_store::{
    FailingTarget, StatisticsStep, TargetId,
    states::sql,
    statistics::{FAILING_WINDOW, level::TARGET_MINUTE, without_success::WithoutSuccessQuery},
};
use rusqlite::{Connection, params};

use crate::{rows, tx_error::TxError};

/// Returns the worst rows of each minute, added up.
pub(super) fn failing(
    db: &Connection,
    tenant: Option<TenantId>,
    lane: Lane,
    until: Time,
    max: usize,
) -> Result<Vec<FailingTarget>, TxError> {
    let mut list = db.prepare_cached(if tenant.is_some() {
        sql!(
            "SELECT tenant_id, target_id, failed FROM statistics INDEXED BY statistics_failing_of_tenant
             WHERE level = {TARGET_MINUTE} AND failed > 0 AND lane = ?1 AND at = ?2 AND tenant_id = ?4
             ORDER BY failed DESC LIMIT ?3"
        )
    } else {
        sql!(
            "SELECT tenant_id, target_id, failed FROM statistics INDEXED BY statistics_failing
             WHERE level = {TARGET_MINUTE} AND failed > 0 AND lane = ?1 AND at = ?2
             ORDER BY failed DESC LIMIT ?3"
        )
    })?;
    let step = StatisticsStep::Minute;
    let mut sums: BTreeMap<(TenantId, TargetId), u64> = BTreeMap::new();
    let mut minute = step.floor(until - FAILING_WINDOW);
    while minute < until {
        let (lane, at, max) = (lane.number(), minute.secs(), max as i64);
        let mut found = match tenant {
            None => list.query(params![lane, at, max])?,
            Some(tenant) => list.query(params![lane, at, max, tenant.bytes()])?,
        };
        while let Some(row) = found.next()? {
            let key = (rows::id(row, 0)?, rows::id(row, 1)?);
            *sums.entry(key).or_default() += row.get::<_, i64>(2)? as u64;
        }
        minute = minute + step.length();
    }
    let target =
        |((tenant, target), failed_attempts)| FailingTarget { tenant, target, failed_attempts };
    let mut failing: Vec<_> = sums.into_iter().map(target).collect();
    failing.sort_by_key(|one| std::cmp::Reverse(one.failed_attempts));
    failing.truncate(max);
    Ok(failing)
}

/// Returns every target with enough failed attempts, whether others succeeded or not.
pub(super) fn all_failing(
    db: &Connection,
    of: &WithoutSuccessQuery,
) -> Result<Vec<FailingTarget>, TxError> {
    let mut list = db.prepare_cached(sql!(
        "SELECT tenant_id, target_id, sum(failed) FROM statistics INDEXED BY statistics_failing
         WHERE level = {TARGET_MINUTE} AND failed > 0 AND lane = ?1 AND at >= ?2 AND at < ?3
         GROUP BY tenant_id, target_id HAVING sum(failed) >= ?4"
    ))?;
    let (since, until) = (of.since.secs(), of.until.secs());
    let mut found = list.query(params![of.lane.number(), since, until, of.min_attempts as i64])?;
    let mut failing = Vec::new();
    while let Some(row) = found.next()? {
        let failed_attempts = row.get::<_, i64>(2)? as u64;
        let (tenant, target) = (rows::id(row, 0)?, rows::id(row, 1)?);
        failing.push(FailingTarget { tenant, target, failed_attempts });
    }
    Ok(failing)
}
