//! A tenant's usage of its plan.

use async_trait::async_trait;
use gancho_domain::TenantScope;
use gancho_store::{PlanCharge, Result, Usage};
use rusqlite::{OptionalExtension, params};

use crate::SqliteStore;

/// Grants at least zero, even if the limit was lowered below the usage.
const SPEND: &str = "INSERT INTO usage (tenant_id, period, used, granted)
    VALUES (?1, ?2, min(?3, ?4), min(?3, ?4))
    ON CONFLICT DO UPDATE SET used = used + max(0, min(?3, ?4 - used)),
      granted = max(0, min(?3, ?4 - used))
    RETURNING granted, used";

#[async_trait]
impl Usage for SqliteStore {
    async fn spend(
        &self,
        scope: TenantScope,
        period: &str,
        count: u64,
        limit: u64,
    ) -> Result<PlanCharge> {
        let period = period.to_owned();
        self.write_more_for(Some(scope.tenant()), 1, move |tx| {
            let (granted, used): (i64, i64) = tx.db.prepare_cached(SPEND)?.query_row(
                params![scope.tenant().bytes(), period, amount(count), amount(limit)],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            Ok(PlanCharge { granted: granted as u64, used: used as u64 })
        })
        .await
    }

    async fn give_back(&self, scope: TenantScope, period: &str, count: u64) -> Result<()> {
        let period = period.to_owned();
        self.write_for(Some(scope.tenant()), 1, move |tx| {
            tx.db
                .prepare_cached(
                    "UPDATE usage SET used = max(0, used - ?3)
                     WHERE tenant_id = ?1 AND period = ?2",
                )?
                .execute(params![scope.tenant().bytes(), period, amount(count)])?;
            Ok(())
        })
        .await
    }

    async fn used(&self, scope: TenantScope, period: &str) -> Result<u64> {
        let period = period.to_owned();
        self.read_for(Some(scope.tenant()), move |db| {
            let used: Option<i64> = db
                .prepare_cached("SELECT used FROM usage WHERE tenant_id = ?1 AND period = ?2")?
                .query_row(params![scope.tenant().bytes(), period], |row| row.get(0))
                .optional()?;
            Ok(used.unwrap_or(0) as u64)
        })
        .await
    }
}

/// Converts a count. Counts above the maximum of the database mean no limit.
fn amount(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
