//! Renders a suppressed address in full, because the caller must be able to remove it.

use gancho_mail::SuppressedAddress;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Timestamp;

#[derive(Debug, Serialize, ToSchema)]
pub struct Suppression {
    /// E-mail address, in lower case.
    pub address: String,
    /// `bounce`, `complaint` or `manual`.
    pub reason: &'static str,
    /// Diagnostic text of the bounce or complaint.
    pub detail: Option<String>,
    pub since: Timestamp,
}

impl From<SuppressedAddress> for Suppression {
    fn from(one: SuppressedAddress) -> Self {
        Self {
            address: one.address,
            reason: one.reason.name(),
            detail: one.detail,
            since: Timestamp(one.since),
        }
    }
}
