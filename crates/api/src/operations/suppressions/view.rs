//! How a suppressed address is shown: whole, because whoever looks must be able to name it.

use gancho_mail::SuppressedAddress;
use serde::Serialize;
use utoipa::ToSchema;

use crate::show::Stamp;

#[derive(Debug, Serialize, ToSchema)]
pub struct Suppression {
    /// In lower case.
    pub address: String,
    /// `bounce`, `complaint` or `manual`.
    pub reason: &'static str,
    /// What was said when it came here.
    pub detail: Option<String>,
    pub since: Stamp,
}

impl From<SuppressedAddress> for Suppression {
    fn from(one: SuppressedAddress) -> Self {
        Self {
            address: one.address,
            reason: one.reason.name(),
            detail: one.detail,
            since: Stamp(one.since),
        }
    }
}
