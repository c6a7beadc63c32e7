//! E-mails: sending them, and looking for what became of them. Their names are those of the contract
//! that they come from, in camelCase.

pub mod get;
pub mod list;
pub mod send;
pub mod view;

use gancho_mail::{Outbox, Sink, Suppressions};
use std::sync::Arc;

use crate::{codes, problem::Problem, state::Api};

pub(crate) const TAG: &str = "E-mails";

/// What the calls about e-mails use.
#[derive(Clone)]
pub struct MailDesk {
    pub outbox: Arc<Outbox>,
    pub suppressions: Arc<Suppressions>,
    /// Where letters are caught instead of sent.
    pub sink: Option<Arc<Sink>>,
}

/// A gateway that knows no mail server accepts no e-mail, rather than keeping it for nobody.
pub(crate) fn desk(api: &Api) -> Result<&MailDesk, Problem> {
    api.mail.as_ref().ok_or_else(|| {
        Problem::new(
            &codes::EMAIL_OFF,
            "this gateway sends no e-mail: the operator must name a mail server or SES in its settings",
        )
    })
}
