//! The second step: charges the plan of the tenant, if it has a quota. Usage is counted before the events
//! are accepted and refunded for those that are not new: a crash in between costs the tenant a few events,
//! and never exceeds the quota.

use gancho_domain::{Tenant, TenantScope, Time};
use gancho_store::{PlanCharge, StoreError};
use tracing::instrument;

use super::{PublishError, PublishResult, Publisher};
use crate::{PlanLimit, plans};

/// The quota of events of a tenant in this month.
pub(super) struct Allowance {
    plan: String,
    limit: u64,
}

/// The usage that was counted for a batch.
pub(super) struct Charge {
    allowance: Allowance,
    asked: usize,
    spent: PlanCharge,
    at: Time,
}

impl Publisher {
    /// Returns the quota; `None` for an unlimited plan, which costs no write.
    pub(super) fn allowance(&self, tenant: &Tenant) -> Option<Allowance> {
        let limit = self.plans.of(tenant).events?;
        Some(Allowance { plan: tenant.plan.clone(), limit })
    }

    #[instrument(level = "debug", skip_all)]
    pub(super) async fn charge(
        &self,
        scope: TenantScope,
        allowance: Allowance,
        asked: usize,
    ) -> Result<Charge, StoreError> {
        let at = self.clock.now();
        let period = plans::period(at);
        let spent = self.store.spend(scope, &period, asked as u64, allowance.limit).await?;
        Ok(Charge { allowance, asked, spent, at })
    }

    /// Refunds the events that were not accepted as new.
    pub(super) async fn refund(
        &self,
        scope: TenantScope,
        charge: &Charge,
        answers: &[PublishResult],
    ) {
        let is_new =
            |answer: &&PublishResult| matches!(answer, Ok(published) if !published.is_repeat);
        let unused = answers.len() - answers.iter().filter(is_new).count();
        if unused == 0 {
            return;
        }
        let period = plans::period(charge.at);
        if let Err(error) = self.store.give_back(scope, &period, unused as u64).await {
            tracing::warn!(%error, count = unused, tenant = %scope.tenant(), "could not refund plan usage");
        }
    }
}

impl Charge {
    /// Returns the number of events, from the first on, that are within the plan.
    pub fn granted(&self) -> usize {
        usize::try_from(self.spent.granted).unwrap_or(usize::MAX)
    }

    /// Returns one result for each event of the batch. Events beyond the quota are refused.
    pub fn fill(self, mut answers: Vec<PublishResult>) -> Vec<PublishResult> {
        let Allowance { plan, limit } = self.allowance;
        let resets_at = Some(plans::resets_at(self.at));
        let reached = PlanLimit { plan, what: "events", limit, used: self.spent.used, resets_at };
        answers.resize(self.asked, Err(PublishError::PlanLimit(reached)));
        answers
    }
}
