//! A tenant's usage of its plan.

use async_trait::async_trait;
use gancho_domain::TenantScope;

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanCharge {
    /// How many of the requested count were within the limit and were counted.
    pub granted: u64,
    /// The total usage in the period so far.
    pub used: u64,
}

#[async_trait]
pub trait Usage: Send + Sync + 'static {
    /// Counts as many of `count` as fit under `limit` in a period (`2026-11`). Called before the event is
    /// accepted: a crash in between costs the tenant one event, and never grants it more.
    async fn spend(
        &self,
        scope: TenantScope,
        period: &str,
        count: u64,
        limit: u64,
    ) -> Result<PlanCharge>;

    /// Refunds usage that was counted but not used.
    async fn give_back(&self, scope: TenantScope, period: &str, count: u64) -> Result<()>;

    async fn used(&self, scope: TenantScope, period: &str) -> Result<u64>;
}
