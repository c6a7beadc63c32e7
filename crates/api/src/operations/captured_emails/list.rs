//! `GET /v1/dev/emails`: newest first.

use super::{TAG, sink, view::CapturedEmailSummary};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/dev/emails",
    operation_id: "listCapturedEmails",
    needs: Needs::Operator,
    gives: Gives::ok::<List<CapturedEmailSummary>>("The latest captured e-mails, newest first."),
    refuses: &[&codes::NO_ROUTE],
    tag: TAG,
    summary: "List captured e-mails",
    about: "Only available with the `sink` transport, which captures e-mails in memory for a short time instead of sending them.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::DEFAULT
};

fn run(call: &Call) -> Result<Answer, Problem> {
    let emails = sink(call)?.emails();
    let data = emails.iter().map(|captured| CapturedEmailSummary::from(&**captured)).collect();
    Answer::ok(&List::<CapturedEmailSummary> { data, next_cursor: None })
}
