//! E-mails that the development sink captured instead of sending them. Operator only.

pub mod get;
pub mod list;
pub mod view;

use gancho_mail::{Sink, transport::OutgoingMessage};

use crate::{codes, problem::Problem, route::Call};

pub(crate) const TAG: &str = "E-mails";

/// Erases what the sink has captured, if there is one.
pub(crate) fn erase_captured(call: &Call, is_erased: impl Fn(&OutgoingMessage) -> bool) {
    if let Some(sink) = find_sink(call) {
        sink.erase(is_erased);
    }
}

fn find_sink(call: &Call) -> Option<&Sink> {
    call.api.mail.as_ref().and_then(|mail| mail.sink.as_deref())
}

/// The sink; an error if the gateway sends e-mails for real.
pub(crate) fn sink(call: &Call) -> Result<&Sink, Problem> {
    find_sink(call).ok_or_else(|| {
        let detail = "this gateway captures no e-mails; use one with the `sink` transport, e.g. `gancho dev`";
        Problem::new(&codes::NO_ROUTE, detail)
    })
}
