//! Renders a suppressed address in full, because the caller must be able to remove it.

use gancho_mail::SuppressedAddress;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

#[derive(Debug, Serialize, ToSchema)]
pub struct Suppression {
    /// Slug of the tenant. Only where the operator reads those of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// E-mail address, in lower case.
    pub address: String,
    /// `bounce`, `complaint` or `manual`.
    #[schema(value_type = words::SuppressionReason)]
    pub reason: &'static str,
    /// Diagnostic text of the bounce or complaint.
    pub detail: Option<String>,
    pub since: Timestamp,
}

impl From<SuppressedAddress> for Suppression {
    fn from(one: SuppressedAddress) -> Self {
        Self {
            tenant: None,
            address: one.address,
            reason: one.reason.name(),
            detail: one.detail,
            since: Timestamp(one.since),
        }
    }
}
