//! A tenant's usage of its plan.

use async_trait::async_trait;
use gancho_domain::TenantScope;
use gancho_store::{PlanCharge, Result, Usage};

use crate::{
    PostgresStore,
    rows::{self, text, uuid},
    session::{execute, query},
    tx_error::{corrupt, store_error},
};

/// Grants at least zero, even if the limit was lowered below the usage.
const SPEND: &str = "
insert into usage as u (tenant_id, period, used, granted)
values ($1, $2, least($3::int8, $4::int8), least($3::int8, $4::int8))
on conflict (tenant_id, period) do update
set used = u.used + greatest(0, least($3::int8, $4::int8 - u.used)),
    granted = greatest(0, least($3::int8, $4::int8 - u.used))
returning granted, used";

#[async_trait]
impl Usage for PostgresStore {
    async fn spend(
        &self,
        scope: TenantScope,
        period: &str,
        count: u64,
        limit: u64,
    ) -> Result<PlanCharge> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let spent = query(
            &session,
            SPEND,
            &[&uuid(scope.tenant()), &text(period), &amount(count), &amount(limit)],
        )
        .await
        .map_err(store_error)?;
        let row = spent.first().ok_or_else(|| corrupt("what was spent is not there"))?;
        Ok(PlanCharge {
            granted: rows::get::<i64>(row, 0)? as u64,
            used: rows::get::<i64>(row, 1)? as u64,
        })
    }

    async fn give_back(&self, scope: TenantScope, period: &str, count: u64) -> Result<()> {
        let session = self.session_of(Some(scope.tenant())).await?;
        execute(
            &session,
            "update usage set used = greatest(0, used - $3)
             where tenant_id = $1 and period = $2",
            &[&uuid(scope.tenant()), &text(period), &amount(count)],
        )
        .await
        .map_err(store_error)?;
        Ok(())
    }

    async fn used(&self, scope: TenantScope, period: &str) -> Result<u64> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = "select used from usage where tenant_id = $1 and period = $2";
        let found = query(&session, sql, &[&uuid(scope.tenant()), &text(period)]).await;
        let found = found.map_err(store_error)?;
        Ok(found.first().map(|row| rows::get::<i64>(row, 0)).transpose()?.unwrap_or(0) as u64)
    }
}

/// Converts a count. Counts above the maximum of the database mean no limit.
fn amount(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
