//! Renders a captured e-mail in full: it went nowhere, and a developer wants to see it.

use gancho_mail::sink;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Timestamp;

/// A captured e-mail without its content.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapturedEmailSummary {
    /// Id of the e-mail (`out_…`).
    pub outbox_id: String,
    /// Id of the tenant that submitted the e-mail.
    pub tenant_id: String,
    /// Sender: an address, with a display name if one was given.
    pub from: String,
    /// Recipient: an address, with a display name if one was given.
    pub to: String,
    /// Subject line of the e-mail.
    pub subject: String,
    /// Value of the `Message-ID` header, without the angle brackets.
    pub message_id: String,
    /// When the e-mail was captured.
    pub caught_at: Timestamp,
    /// Size of the raw message in bytes.
    pub size: usize,
}

/// An e-mail that was captured instead of being sent.
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
