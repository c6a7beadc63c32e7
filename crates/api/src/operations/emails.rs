//! E-mails: sending them and looking up their status. Field names are in camelCase, as in the contract that
//! they come from.

pub mod get;
pub mod list;
pub mod send;
pub mod view;

use crate::{
    codes,
    problem::Problem,
    state::{Api, MailParts},
};

pub(crate) const TAG: &str = "E-mails";

/// A gateway without a transport accepts no e-mail, rather than storing it for ever.
pub(crate) fn mail(api: &Api) -> Result<&MailParts, Problem> {
    api.mail.as_ref().ok_or_else(|| {
        Problem::new(
            &codes::EMAIL_OFF,
            "e-mail is disabled on this gateway; the operator must configure an e-mail transport",
        )
    })
}
