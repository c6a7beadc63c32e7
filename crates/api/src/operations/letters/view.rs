//! How a caught letter is shown: whole, because it went nowhere and a developer wants to see it.

use gancho_mail::sink::CapturedEmail;
use serde::Serialize;
use utoipa::ToSchema;

use crate::show::Stamp;

/// In a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LetterSummary {
    pub outbox_id: String,
    pub tenant_id: String,
    pub from: String,
    pub to: String,
    pub subject: String,
    pub message_id: String,
    pub caught_at: Stamp,
    /// In bytes.
    pub size: usize,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Letter {
    #[serde(flatten)]
    pub summary: LetterSummary,
    /// As it would have been sent: headers, an empty line, and the parts.
    pub raw: String,
}

impl From<&CapturedEmail> for LetterSummary {
    fn from(caught: &CapturedEmail) -> Self {
        let letter = &caught.letter;
        Self {
            outbox_id: letter.id.to_string(),
            tenant_id: letter.tenant.to_string(),
            from: letter.from.to_string(),
            to: letter.to.to_string(),
            subject: letter.subject.clone(),
            message_id: letter.message_id.clone(),
            caught_at: Stamp(caught.at),
            size: letter.raw.len(),
        }
    }
}

impl From<&CapturedEmail> for Letter {
    fn from(caught: &CapturedEmail) -> Self {
        let raw = String::from_utf8_lossy(&caught.letter.raw).into_owned();
        Self { summary: caught.into(), raw }
    }
}
