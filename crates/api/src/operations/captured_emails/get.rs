//! `GET /v1/dev/emails/{outbox_id}`.

use super::{TAG, sink, view::CapturedEmail};
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/dev/emails/{outbox_id}",
    operation_id: "getCapturedEmail",
    needs: Needs::Operator,
    gives: Gives::ok::<CapturedEmail>("The captured e-mail, as it would have been sent."),
    refuses: &[&codes::NO_ROUTE],
    tag: TAG,
    summary: "Get a captured e-mail",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::DEFAULT
};

fn run(call: &Call) -> Result<Answer, Problem> {
    let captured = sink(call)?.email(call.id("outbox_id")?);
    let captured = captured.ok_or_else(|| Problem::not_found(ResourceKind::Email))?;
    Answer::ok(&CapturedEmail::from(&*captured))
}
