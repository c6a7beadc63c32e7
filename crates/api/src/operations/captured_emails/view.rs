//! Renders a captured e-mail in full: it went nowhere, and a developer wants to see it.

use gancho_mail::sink;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Timestamp;

/// A captured e-mail without its content.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedEmailSummary {
    pub outbox_id: String,
    pub tenant_id: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub message_id: String,
    pub caught_at: Timestamp,
    /// Size in bytes.
    pub size: usize,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedEmail {
    #[serde(flatten)]
    pub summary: CapturedEmailSummary,
    /// The raw message: headers, an empty line, and the body.
    pub raw: String,
}

impl From<&sink::CapturedEmail> for CapturedEmailSummary {
    fn from(captured: &sink::CapturedEmail) -> Self {
        let email = &captured.email;
        Self {
            outbox_id: email.id.to_string(),
            tenant_id: email.tenant.to_string(),
            from: email.from.to_string(),
            to: email.to.to_string(),
            subject: email.subject.clone(),
            message_id: email.message_id.clone(),
            caught_at: Timestamp(captured.at),
            size: email.raw.len(),
        }
    }
}

impl From<&sink::CapturedEmail> for CapturedEmail {
    fn from(captured: &sink::CapturedEmail) -> Self {
        let raw = String::from_utf8_lossy(&captured.email.raw).into_owned();
        Self { summary: captured.into(), raw }
    }
}
