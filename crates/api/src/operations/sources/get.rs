//! `GET /v1/sources/{partner}`.

use super::{
    TAG, find, inbound,
    view::{SourceCounts, SourceView},
};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/sources/{partner}",
    operation_id: "getSource",
    needs: Needs::Operator,
    gives: Gives::ok::<SourceCounts>("The source, with its counters."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Get a source",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let seen = inbound(&call)?.inbound.activity_of(&source).await?;
    Answer::ok(&SourceCounts { source: SourceView::from(&source), counts: seen.counts.into() })
}
