//! The second step: counting towards the plan, for tenants that have one. Counted before the events
//! are accepted, and given back for those that turn out not to be new: a crash between the two costs
//! the tenant a few, and can never give it more.

use gancho_domain::{Tenant, TenantScope};

use super::{Answer, NewEvent, PublishError, Publisher};
use crate::{PlanLimit, fan_out::Audience, plans};

/// How many events a tenant may have in this month.
pub(super) struct Allowance {
    plan: String,
    limit: u64,
}

impl Publisher {
    /// Nothing for those that may have any number: they cost no write.
    pub(super) fn allowance(&self, tenant: &Tenant) -> Option<Allowance> {
        let limit = self.plans.of(tenant).events?;
        Some(Allowance { plan: tenant.plan.clone(), limit })
    }

    /// Not to be cut short: what was spent for nothing is given back at the end.
    pub(super) async fn accept_within(
        &self,
        scope: TenantScope,
        Allowance { plan, limit }: Allowance,
        mut events: Vec<NewEvent>,
    ) -> Vec<Answer> {
        let now = self.clock.now();
        let period = plans::period(now);
        let asked = events.len();
        let spent = match self.store.spend(scope, &period, asked as u64, limit).await {
            Ok(spent) => spent,
            Err(error) => return vec![Err(error.into()); asked],
        };
        events.truncate(usize::try_from(spent.granted).unwrap_or(usize::MAX));
        let mut answers = Vec::new();
        if !events.is_empty() {
            answers = self.accept(scope, events, Audience::Wanting).await;
        }
        self.give_back(scope, &period, &answers).await;
        let resets_at = Some(plans::resets_at(now));
        let reached = PlanLimit { plan, what: "events", limit, used: spent.used, resets_at };
        answers.resize(asked, Err(PublishError::PlanLimit(reached)));
        answers
    }

    /// Those that were not accepted as new have used nothing.
    async fn give_back(&self, scope: TenantScope, period: &str, answers: &[Answer]) {
        let is_new = |answer: &&Answer| matches!(answer, Ok(published) if !published.is_repeat);
        let unused = answers.len() - answers.iter().filter(is_new).count();
        if unused == 0 {
            return;
        }
        if let Err(error) = self.store.give_back(scope, period, unused as u64).await {
            tracing::warn!(%error, unused, tenant = %scope.tenant(), "what a plan was charged for nothing stays charged");
        }
    }
}
