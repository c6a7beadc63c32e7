//! E-mails: sending them, and looking for what became of them. Their names are those of the contract
//! that they come from, in camelCase.

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

/// A gateway that knows no mail server accepts no e-mail, rather than keeping it for nobody.
pub(crate) fn mail(api: &Api) -> Result<&MailParts, Problem> {
    api.mail.as_ref().ok_or_else(|| {
        Problem::new(
            &codes::EMAIL_OFF,
            "e-mail is disabled on this gateway; the operator must configure an e-mail transport",
        )
    })
}
