//! `GET /v1/dev/letters`: newest first.

use super::{TAG, sink, view::LetterSummary};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/dev/letters",
    needs: Needs::Operator,
    gives: Gives::ok::<List<LetterSummary>>("The latest captured e-mails, newest first."),
    refuses: &[&codes::NO_ROUTE],
    tag: TAG,
    summary: "List captured e-mails",
    about: "Only available with the `sink` transport, which captures e-mails in memory for a short time instead of sending them.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::PLAIN
};

fn run(call: &Call) -> Result<Answer, Problem> {
    let letters = sink(call)?.letters();
    let data = letters.iter().map(|caught| LetterSummary::from(&**caught)).collect();
    Answer::ok(&List::<LetterSummary> { data, next_cursor: None })
}
