//! Addresses that a tenant's e-mails are not sent to: listed, added, imported, removed.

pub mod add;
pub mod import;
pub mod list;
pub mod remove;
pub mod view;

use gancho_mail::SuppressionReason;

use crate::input::request;

pub(crate) const TAG: &str = "Suppressions";

request! {
    pub(crate) struct ReasonBody {
        /// Why the address is suppressed. Default: `manual`.
        nullable reason: String as choice(&["bounce", "complaint", "manual"]),
    }
}

impl ReasonBody {
    pub(crate) fn reason(&self) -> SuppressionReason {
        let given = self.reason.as_deref();
        let known = SuppressionReason::ALL.into_iter().find(|known| Some(known.name()) == given);
        known.unwrap_or(SuppressionReason::Manual)
    }
}
