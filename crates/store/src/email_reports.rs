//! Reports on e-mails after they were sent: bounces and complaints.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EmailId, TenantScope, Time};

use crate::{
    AcceptOutcome, DeliveryRow, NewParcel, NewSuppression, Page, PageRequest, Result, TargetId,
};

/// A report that a sent e-mail failed after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailReport {
    pub email: EmailId,
    /// The delivery that sent it.
    pub delivery: Option<DeliveryId>,
    pub code: String,
    pub reason: String,
    pub error: Option<String>,
    /// Whether the failure may be temporary. The next report replaces such a report; otherwise the first one
    /// stays.
    pub is_provisional: bool,
    pub at: Time,
}

#[derive(Debug, Clone)]
pub struct NewEmailReport {
    pub report: EmailReport,
    /// The notice to its tenant, under a key that identifies a repeated report.
    pub notice: NewParcel,
    /// The addresses that get no more e-mails.
    pub suppress: Vec<NewSuppression>,
    /// How long the report is stored.
    pub retention: Duration,
}

/// Selects failed e-mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedEmails {
    pub target: TargetId,
    /// Created at or after this time.
    pub since: Option<Time>,
    /// Created before this time.
    pub until: Option<Time>,
}

#[async_trait]
pub trait EmailReports: Send + Sync + 'static {
    /// Suppresses the addresses, accepts the notice and stores the report, all in one transaction. A repeated
    /// report is stored with the time of the first notice. Returns the outcome of the notice.
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome>;

    /// Returns the reports on these e-mails, in no particular order.
    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>>;

    /// Returns deliveries of e-mails that were given up or reported as failed later, in the order of their
    /// ids.
    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>>;
}
