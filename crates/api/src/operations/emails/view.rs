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
    /// Id of the e-mail (`out_…`).
    pub outbox_id: String,
    /// Your own id for the e-mail; null if none was given.
    pub external_id: Option<String>,
    /// Slug of the tenant that submitted the e-mail.
    pub company_id: String,
    /// Address of the recipient, masked: `j***@e***le.com`.
    pub recipient: String,
    /// Subject line of the e-mail.
    pub subject: String,
    /// Status of the e-mail.
    #[schema(value_type = words::EmailStatus)]
    pub status: &'static str,
    /// Number of attempts to send the e-mail so far.
    pub attempts: u32,
    /// When the e-mail was accepted.
    pub created_at: Timestamp,
    /// When the mail server or SES accepted the e-mail; null if it has not. It stays set if the e-mail bounces later.
    pub sent_at: Option<Timestamp>,
    /// When the next attempt after a failed one is planned; null before the first attempt, and once the e-mail was sent
    /// or has failed.
    pub next_retry_at: Option<Timestamp>,
    /// Why the e-mail failed, or why its last attempt did: `INVALID_RECIPIENT`, `BOUNCE_PERMANENT`, `BOUNCE_TEMPORARY`,
    /// `COMPLAINT`, `SES_THROTTLE`, `SES_ERROR`, `INVALID_CONTENT` or `INTERNAL_ERROR`; null if it did not fail.
    pub failure_code: Option<&'static str>,
    /// Description of the failure in English; null if the e-mail did not fail.
    pub failure_reason: Option<String>,
}

/// An e-mail with all attempts to send it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Email {
    #[serde(flatten)]
    pub summary: EmailSummary,
    /// Address of the sender, masked: `s***@e***le.com`.
    pub from: String,
    /// Message id: over SMTP that of the `Message-ID` header, with SES the one that SES assigned. Null if the last
    /// attempt did not send the e-mail.
    pub message_id: Option<String>,
    /// Error code of the mail server or SES, e.g. `550` or `MessageRejected`; null if there is none.
    pub ses_error: Option<String>,
    /// When the e-mail failed permanently, or was reported as bounced after it was sent; null if neither happened.
    pub failed_at: Option<Timestamp>,
    /// When the content of the e-mail was erased; null if it was not.
    pub erased_at: Option<Timestamp>,
    /// Id of the delivery of the e-mail (`dlv_…`), to retry or replay it.
    pub delivery_id: String,
    /// All attempts, oldest first.
    pub attempt_log: Vec<EmailAttempt>,
}

/// One attempt to send an e-mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmailAttempt {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// When the attempt began.
    pub started_at: Timestamp,
    /// Duration of the attempt in milliseconds.
    pub latency_ms: u64,
    /// SMTP reply code, or HTTP status of SES; null if there was no response.
    pub response_status: Option<u16>,
    /// Text of the SMTP reply, or response body of SES.
    pub response: String,
    /// Code and reason of the failure, as `CODE: reason`; null if the attempt succeeded.
    pub error: Option<String>,
    /// When the next attempt was planned; null if none was to follow.
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
