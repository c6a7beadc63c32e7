//! `GET /v1/sources/{partner}/rejections` and `GET /v1/rejections`: the last that were turned away on
//! this node, newest first, with the reason that the sender was not told.

use gancho_inbound::rejections::UNKNOWN;

use super::{TAG, find, parts, view::RejectionView};
use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const OF_SOURCE: Route = Route {
    path: "/sources/{partner}/rejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The last ones, newest first."),
    tag: TAG,
    summary: "List what was turned away from a source",
    run: |call| Box::pin(of_source(call)),
    ..Route::PLAIN
};

pub const OF_NOBODY: Route = Route {
    path: "/rejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The last ones, newest first."),
    tag: TAG,
    summary: "List what was turned away for naming no partner",
    run: |call| Box::pin(async move { shown(&call, UNKNOWN) }),
    ..Route::PLAIN
};

async fn of_source(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    shown(&call, source.partner.as_str())
}

fn shown(call: &Call, partner: &str) -> Result<Answer, Problem> {
    let rows = parts(call)?.inbound.rejections.of(partner);
    let data = rows.into_iter().map(RejectionView::from).collect();
    Answer::ok(&List::<RejectionView> { data, next_cursor: None })
}
