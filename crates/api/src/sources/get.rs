//! `GET /v1/sources/{partner}`.

use super::{
    TAG, find, parts,
    view::{SourceCounts, SourceView},
};
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/sources/{partner}",
    needs: Needs::Operator,
    gives: Gives::ok::<SourceCounts>("The source, and what this node counted of it."),
    tag: TAG,
    summary: "Show a source",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let counts = parts(&call)?.inbound.tally.of_partner(source.partner.as_str());
    Answer::ok(&SourceCounts { source: SourceView::from(&source), counts: counts.into() })
}
