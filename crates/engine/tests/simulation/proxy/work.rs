//! Replays, reports on e-mails and deleted tenants. The simulation has none of them.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{EmailId, ParcelId, ReplayId, TenantId, TenantScope, Time};
use gancho_store::{
    AcceptOutcome, AuditEntry, AuditFilter, AuditLog, ContentErasure, DeletedTenant, DeliveryRow,
    EmailReport, EmailReports, EraseStep, Erasure, FailedEmails, LeasedReplay, NewEmailReport,
    NewReplayJob, NewSuppression, OpenReplayOutcome, Page, PageRequest, ReplayCounts, ReplayEnd,
    ReplayJob, ReplayJobs, ReplayLease, ReplayLimits, ReplayTotal, Result, SubjectScan,
    Suppression, Suppressions,
};

use super::Proxy;

#[async_trait]
impl ReplayJobs for Proxy {
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome> {
        self.inner.open_replay(owner, new, limits).await
    }

    async fn replay(&self, owner: Option<TenantScope>, id: ReplayId) -> Result<Option<ReplayJob>> {
        self.inner.replay(owner, id).await
    }

    async fn replays(
        &self,
        owner: Option<TenantScope>,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>> {
        self.inner.replays(owner, before, max).await
    }

    async fn open_replays(&self, max: usize) -> Result<Vec<ReplayJob>> {
        self.inner.open_replays(max).await
    }

    async fn lease_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        total: ReplayTotal,
        now: Time,
    ) -> Result<Option<LeasedReplay>> {
        self.inner.lease_replay(id, lease, total, now).await
    }

    async fn advance_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        page: ReplayCounts,
        cursor: String,
    ) -> Result<bool> {
        self.inner.advance_replay(id, lease, page, cursor).await
    }

    async fn end_replay(
        &self,
        id: ReplayId,
        runner: &str,
        page: ReplayCounts,
        end: ReplayEnd,
        now: Time,
    ) -> Result<bool> {
        self.inner.end_replay(id, runner, page, end, now).await
    }

    async fn cancel_replay(
        &self,
        owner: Option<TenantScope>,
        id: ReplayId,
        now: Time,
    ) -> Result<Option<ReplayJob>> {
        self.inner.cancel_replay(owner, id, now).await
    }
}

#[async_trait]
impl EmailReports for Proxy {
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome> {
        self.inner.report_email(scope, new).await
    }

    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>> {
        self.inner.email_reports(scope, emails).await
    }

    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        self.inner.failed_emails(scope, which, page).await
    }
}

#[async_trait]
impl AuditLog for Proxy {
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()> {
        self.inner.append_audit(entries, retention).await
    }

    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        self.inner.audit(filter, page).await
    }
}

#[async_trait]
impl Suppressions for Proxy {
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64> {
        self.inner.suppress(scope, new).await
    }

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>> {
        self.inner.suppression(scope, address).await
    }

    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>> {
        self.inner.suppressions(scope, after, max).await
    }

    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool> {
        self.inner.remove_suppression(scope, address).await
    }
}

#[async_trait]
impl Erasure for Proxy {
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool> {
        self.inner.delete_tenant(id, now).await
    }

    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>> {
        self.inner.deleted_tenants(max).await
    }

    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep> {
        self.inner.erase(id, max).await
    }

    async fn mark_erased(&self, id: TenantId) -> Result<()> {
        self.inner.mark_erased(id).await
    }

    async fn forget_deleted(&self, id: TenantId) -> Result<()> {
        self.inner.forget_deleted(id).await
    }

    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure> {
        self.inner.erase_content(scope, id, replacement, now).await
    }

    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan> {
        self.inner.parcels_about(scope, subject, after, max).await
    }
}
