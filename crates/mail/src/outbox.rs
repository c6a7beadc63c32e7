//! The outbox: submits, shows and lists e-mails.

use std::sync::Arc;

use gancho_domain::{
    Attempt, Clock, DeliveryId, EmailId, Failure, IdMaker, Parcel, ParcelKind, Status, TenantScope,
    Time,
};
use gancho_engine::Engine;
use gancho_store::{DeliveryRow, Result, Store, StoreError, TargetId};

use crate::{
    FailureCode, MailLimits, Mailbox,
    carrier::{ERROR, MESSAGE_ID, noted},
    email::{EmailSummary, outbox_id},
    feedback::{self, Verdict},
};

pub struct Outbox {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub limits: MailLimits,
}

/// Used in place of an event type.
pub(crate) const EVENT_TYPE: &str = "email";

/// Returns the one target of all e-mails of a tenant, so that its limits are the tenant's.
pub(crate) fn target(scope: TenantScope) -> TargetId {
    scope.tenant().cast()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailStatus {
    Pending,
    Sent,
    Failed,
    RetryScheduled,
}

impl EmailStatus {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Sent, Self::Failed, Self::RetryScheduled];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Sent => "SENT",
            Self::Failed => "FAILED",
            Self::RetryScheduled => "RETRY_SCHEDULED",
        }
    }

    const fn of(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Retrying => Self::RetryScheduled,
            Status::Delivered => Self::Sent,
            Status::Failed => Self::Failed,
        }
    }

    /// Returns the status of the delivery. An e-mail that bounced after it was sent has the delivery status
    /// of a sent one.
    pub const fn in_log(self) -> Status {
        match self {
            Self::Pending => Status::Pending,
            Self::RetryScheduled => Status::Retrying,
            Self::Sent => Status::Delivered,
            Self::Failed => Status::Failed,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailRow {
    pub id: EmailId,
    pub delivery: DeliveryId,
    pub external_id: Option<Box<str>>,
    pub company_id: String,
    /// The recipient, masked.
    pub recipient: String,
    pub subject: String,
    pub status: EmailStatus,
    pub attempts: u32,
    pub created_at: Time,
    pub sent_at: Option<Time>,
    pub next_retry_at: Option<Time>,
    pub failure_code: Option<FailureCode>,
    pub failure_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailView {
    pub row: EmailRow,
    /// The sender, masked.
    pub from: String,
    pub message_id: Option<String>,
    pub ses_error: Option<String>,
    pub failed_at: Option<Time>,
    /// When its content was erased.
    pub erased_at: Option<Time>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmailFilter {
    pub status: Option<EmailStatus>,
    pub external_id: Option<String>,
    /// Only e-mails to this mailbox, in any spelling.
    pub recipient: Option<Mailbox>,
    pub since: Option<Time>,
    pub until: Option<Time>,
}

impl EmailFilter {
    /// Returns a text that occurs in the body of every e-mail to the recipient: the domain, which is stored
    /// in lower case. The part before it has several spellings for one mailbox. Addresses are only in bodies,
    /// so there is no index of them.
    pub(crate) fn text(&self) -> Option<String> {
        self.recipient.as_ref().map(|mailbox| format!("@{}", mailbox.domain()))
    }
}

impl Outbox {
    pub async fn email(&self, scope: TenantScope, id: EmailId) -> Result<Option<EmailView>> {
        let Some(event) = self.store.event(scope, id.cast()).await? else { return Ok(None) };
        let (ParcelKind::Email, Some(row)) = (event.parcel.kind, event.deliveries.first()) else {
            return Ok(None);
        };
        let Some(view) = self.store.delivery(scope, row.id).await? else { return Ok(None) };
        let verdict = feedback::verdicts_on(&*self.store, scope, vec![id]).await?.remove(&id);
        let summary = read(&event.parcel)?;
        let last = view.attempts.last();
        let failed_at = verdict.as_ref().map(|verdict| verdict.at).or(view.row.failed_at);
        let note = |name| last.and_then(|last| noted(&last.response_headers, name));
        let error = match &verdict {
            Some(verdict) => verdict.error.clone(),
            None => note(ERROR).map(str::to_owned),
        };
        Ok(Some(EmailView {
            from: summary.from.masked(),
            message_id: note(MESSAGE_ID).map(str::to_owned),
            ses_error: error,
            failed_at,
            erased_at: event.parcel.erased_at,
            row: displayed_row(&view.row, &summary, verdict),
            attempts: view.attempts,
        }))
    }
}

pub(crate) fn read(parcel: &Parcel) -> Result<EmailSummary> {
    let invalid = |error| StoreError::Corrupt(format!("the e-mail {}: {error}", outbox_id(parcel)));
    EmailSummary::read(&parcel.body).map_err(invalid)
}

/// Returns the status to show. A report after sending overrides the status of the delivery.
pub(crate) fn displayed_row(
    row: &DeliveryRow,
    summary: &EmailSummary,
    verdict: Option<Verdict>,
) -> EmailRow {
    let status =
        if verdict.is_some() { EmailStatus::Failed } else { EmailStatus::of(row.status()) };
    let failure = row.last_failure.as_ref().filter(|_| status != EmailStatus::Sent);
    let (code, reason) = match verdict {
        Some(verdict) => (Some(verdict.code), Some(verdict.reason)),
        None => (
            failure.map(|failure| FailureCode::of(failure.code())),
            failure.map(Failure::reason).map(str::to_owned),
        ),
    };
    EmailRow {
        id: row.event.cast(),
        delivery: row.id,
        external_id: row.external_id.clone(),
        company_id: summary.company_id.clone(),
        recipient: summary.to.masked(),
        subject: summary.subject.clone(),
        status,
        attempts: row.attempts,
        created_at: row.created_at,
        sent_at: row.delivered_at,
        next_retry_at: row.next_retry_at,
        failure_code: code,
        failure_reason: reason,
    }
}
