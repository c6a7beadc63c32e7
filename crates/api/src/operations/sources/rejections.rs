//! `GET /v1/sources/{partner}/rejections` and `GET /v1/rejections`: the last that were turned away, on any
//! node, newest first, with the reason that the sender was not told.

use gancho_inbound::activity::SourceActivity;

use super::{TAG, find, parts, view::RejectionView};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const OF_SOURCE: Route = Route {
    path: "/sources/{partner}/rejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The last ones, newest first."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List what was turned away from a source",
    about: "The last 50 of all nodes. What another node has just turned away is there after a few seconds.",
    run: |call| Box::pin(of_source(call)),
    ..Route::PLAIN
};

pub const OF_NOBODY: Route = Route {
    path: "/rejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The last ones, newest first."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List what was turned away for naming no partner",
    about: "The last 50 of all nodes. What another node has just turned away is there after a few seconds.",
    run: |call| Box::pin(async move { shown(parts(&call)?.inbound.seen_of_strangers().await?) }),
    ..Route::PLAIN
};

async fn of_source(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    shown(parts(&call)?.inbound.seen(&source).await?)
}

fn shown(seen: SourceActivity) -> Result<Answer, Problem> {
    let data = seen.rejections.into_iter().map(RejectionView::from).collect();
    Answer::ok(&List::<RejectionView> { data, next_cursor: None })
}
