//! Addresses that a tenant's e-mails are not sent to: listed, added, imported, removed.

pub mod add;
pub mod import;
pub mod list;
pub mod remove;
pub mod view;

use gancho_mail::SuppressionReason;

use crate::input::{Field, Kind, Values};

pub(crate) const TAG: &str = "Suppressions";

pub(crate) const REASON: Field = Field::new(
    "reason",
    Kind::Choice(&["bounce", "complaint", "manual"]),
    "Why the address is suppressed. Default: `manual`.",
)
.nullable();

pub(crate) fn reason(values: &Values<'_>) -> SuppressionReason {
    let given = values.text("reason");
    let known = SuppressionReason::ALL.into_iter().find(|known| Some(known.name()) == given);
    known.unwrap_or(SuppressionReason::Manual)
}
