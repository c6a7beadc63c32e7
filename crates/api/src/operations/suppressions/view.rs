//! Renders a suppressed address in full, because the caller must be able to remove it.

use gancho_mail::SuppressedAddress;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// An address that a tenant's e-mails are not sent to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Suppression {
    /// Slug of the tenant. Present only if the operator lists the addresses of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
    /// E-mail address, in lower case.
    pub address: String,
    /// Why the address is suppressed.
    #[schema(value_type = words::SuppressionReason)]
    pub reason: &'static str,
    /// Diagnostic text of the bounce or complaint; null if there is none.
    pub detail: Option<String>,
    /// Since when the address has been suppressed.
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
