//! Renders an e-mail, always with its recipient masked.

use gancho_domain::Attempt;
use gancho_mail::{EmailRow, EmailView};
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// An e-mail without its attempts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmailSummary {
    pub outbox_id: String,
    pub external_id: Option<String>,
    /// Slug of the tenant.
    pub company_id: String,
    /// Masked e-mail address.
    pub recipient: String,
    pub subject: String,
    /// `PENDING`, `SENT`, `FAILED` or `RETRY_SCHEDULED`.
    #[schema(value_type = words::EmailStatus)]
    pub status: &'static str,
    pub attempts: u32,
    pub created_at: Timestamp,
    pub sent_at: Option<Timestamp>,
    pub next_retry_at: Option<Timestamp>,
    pub failure_code: Option<&'static str>,
    pub failure_reason: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Email {
    #[serde(flatten)]
    pub summary: EmailSummary,
    /// Masked e-mail address.
    pub from: String,
    /// The message id assigned by the receiving server.
    pub message_id: Option<String>,
    /// Error code of the mail server or SES.
    pub ses_error: Option<String>,
    pub failed_at: Option<Timestamp>,
    /// When its content was erased.
    pub erased_at: Option<Timestamp>,
    /// The e-mail's delivery, to retry or replay it.
    pub delivery_id: String,
    /// Oldest first.
    pub attempt_log: Vec<EmailAttempt>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmailAttempt {
    pub attempt: u32,
    pub started_at: Timestamp,
    pub latency_ms: u64,
    /// SMTP reply code, or HTTP status of SES.
    pub response_status: Option<u16>,
    /// SMTP reply, or response body of SES.
    pub response: String,
    pub error: Option<String>,
    pub next_retry_at: Option<Timestamp>,
}

impl From<EmailRow> for EmailSummary {
    fn from(row: EmailRow) -> Self {
        Self {
            outbox_id: row.id.to_string(),
            external_id: row.external_id.map(Into::into),
            company_id: row.company_id,
            recipient: row.recipient,
            subject: row.subject,
            status: row.status.name(),
            attempts: row.attempts,
            created_at: Timestamp(row.created_at),
            sent_at: row.sent_at.map(Timestamp),
            next_retry_at: row.next_retry_at.map(Timestamp),
            failure_code: row.failure_code.map(gancho_mail::FailureCode::name),
            failure_reason: row.failure_reason,
        }
    }
}

impl From<EmailView> for Email {
    fn from(view: EmailView) -> Self {
        Self {
            from: view.from,
            message_id: view.message_id,
            ses_error: view.ses_error,
            failed_at: view.failed_at.map(Timestamp),
            erased_at: view.erased_at.map(Timestamp),
            delivery_id: view.row.delivery.to_string(),
            attempt_log: view.attempts.into_iter().map(Into::into).collect(),
            summary: view.row.into(),
        }
    }
}

impl From<Attempt> for EmailAttempt {
    fn from(attempt: Attempt) -> Self {
        Self {
            attempt: attempt.number,
            started_at: Timestamp(attempt.started_at),
            latency_ms: u64::try_from(attempt.latency.as_millis()).unwrap_or(u64::MAX),
            response_status: attempt.response_status,
            response: String::from_utf8_lossy(&attempt.response_body).into_owned(),
            error: attempt.failure.map(|failure| failure.to_string()),
            next_retry_at: attempt.next_at.map(Timestamp),
        }
    }
}
