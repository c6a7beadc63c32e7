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
    fn from(caught: &sink::CapturedEmail) -> Self {
        let letter = &caught.letter;
        Self {
            outbox_id: letter.id.to_string(),
            tenant_id: letter.tenant.to_string(),
            from: letter.from.to_string(),
            to: letter.to.to_string(),
            subject: letter.subject.clone(),
            message_id: letter.message_id.clone(),
            caught_at: Timestamp(caught.at),
            size: letter.raw.len(),
        }
    }
}

impl From<&sink::CapturedEmail> for CapturedEmail {
    fn from(caught: &sink::CapturedEmail) -> Self {
        let raw = String::from_utf8_lossy(&caught.letter.raw).into_owned();
        Self { summary: caught.into(), raw }
    }
}
