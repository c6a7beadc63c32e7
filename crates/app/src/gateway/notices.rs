//! Webhooks of tenants and notices of the operator go by one lane and one path, but not by the same rules
//! for addresses: what the operator names may be in the operator's own networks.

use async_trait::async_trait;
use gancho_domain::{Next, TenantId, Time};
use gancho_engine::{AttemptResult, Carrier, Terms};
use gancho_outbound::WebhookCarrier;
use gancho_store::{Job, NewParcel, Result};

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
    /// Both know their endpoints by the same registry.
    async fn prepare(&self, jobs: &[Job]) {
        self.tenants.prepare(jobs).await;
    }

    fn terms(&self, job: &Job) -> Terms {
        self.of(job).terms(job)
    }

    async fn carry(&self, job: &Job, attempt: u32) -> AttemptResult {
        self.of(job).carry(job, attempt).await
    }

    async fn follow(
        &self,
        job: &Job,
        carried: &AttemptResult,
        next: &Next,
        at: Time,
    ) -> Result<Vec<NewParcel>> {
        self.of(job).follow(job, carried, next, at).await
    }
}
