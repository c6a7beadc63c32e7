//! Carries webhooks of tenants and notices of the operator in one lane, but with different rules for
//! addresses: the operator's endpoints may be in the operator's own networks.

use async_trait::async_trait;
use gancho_domain::{EndReason, NextStep, TenantId, Time};
use gancho_engine::{AttemptResult, Carrier, Preemption, Terms};
use gancho_outbound::WebhookCarrier;
use gancho_store::{EndedDelivery, Job, NewParcel, Result};

pub struct NoticeCarrier {
    pub operator: TenantId,
    pub tenants: WebhookCarrier,
    pub notices: WebhookCarrier,
}

impl NoticeCarrier {
    fn of(&self, job: &Job) -> &WebhookCarrier {
        if job.tenant == self.operator { &self.notices } else { &self.tenants }
    }
}

#[async_trait]
impl Carrier for NoticeCarrier {
    /// Both use the same registry of endpoints.
    async fn prepare(&self, jobs: &[Job]) {
        self.tenants.prepare(jobs).await;
    }

    fn terms(&self, job: &Job) -> Terms {
        self.of(job).terms(job)
    }

    async fn carry(&self, job: &Job, attempt: u32, preemption: &Preemption) -> AttemptResult {
        self.of(job).carry(job, attempt, preemption).await
    }

    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &NextStep,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        self.of(job).follow(job, carried, next, at).await
    }

    /// Both count in the same digests.
    fn gave_up(&self, ended: &[EndedDelivery], reason: &EndReason, at: Time) {
        self.tenants.gave_up(ended, reason, at);
    }
}
