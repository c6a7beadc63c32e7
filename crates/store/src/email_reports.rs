//! Reports on e-mails after they were sent: bounces and complaints.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EmailId, TenantScope, Time};

use crate::{
    AcceptOutcome, DeliveryRow, NewParcel, NewSuppression, Page, PageRequest, Result, TargetId,
};

/// That a sent e-mail failed after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailReport {
    pub email: EmailId,
    /// The delivery by which it was sent.
    pub delivery: Option<DeliveryId>,
    pub code: String,
    pub reason: String,
    pub error: Option<String>,
    /// The failure may have passed: the next report replaces this one. Otherwise the first one stays.
    pub is_provisional: bool,
    pub at: Time,
}

#[derive(Debug, Clone)]
pub struct NewEmailReport {
    pub report: EmailReport,
    /// The notice to its tenant, under a key that identifies a repeated report.
    pub notice: NewParcel,
    /// The addresses that get no e-mail any more.
    pub suppress: Vec<NewSuppression>,
    /// How long the report is kept.
    pub retention: Duration,
}

/// Which failed e-mails to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedEmails {
    pub target: TargetId,
    /// Made at or after,
    pub since: Option<Time>,
    /// and before.
    pub until: Option<Time>,
}

#[async_trait]
pub trait EmailReports: Send + Sync + 'static {
    /// Suppresses the addresses, accepts the notice and notes the report, all in one
    /// transaction. A repeated report is noted with the time of the first notice. Returns the outcome of the
    /// notice.
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome>;

    /// What was reported of these e-mails, in no particular order.
    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>>;

    /// Deliveries of e-mails that were given up or of which a failure was reported later, in the order of
    /// their ids.
    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>>;
}
