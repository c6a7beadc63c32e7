//! `GET /v1/sources/{partner}/rejections` and `GET /v1/rejections`: the latest rejected webhooks on all
//! nodes, with the reason that the sender is not told.

use gancho_inbound::activity::SourceActivity;

use super::{TAG, find, inbound, view::RejectionView};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const OF_SOURCE: Route = Route {
    path: "/sources/{partner}/rejections",
    operation_id: "listSourceRejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The latest rejections, newest first."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List a source's rejected webhooks",
    about: "The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes appear after a few seconds.",
    run: |call| Box::pin(of_source(call)),
    ..Route::DEFAULT
};

pub const OF_UNKNOWN_PARTNERS: Route = Route {
    path: "/rejections",
    operation_id: "listRejections",
    needs: Needs::Operator,
    gives: Gives::ok::<List<RejectionView>>("The latest rejections, newest first."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List rejected webhooks of unknown partners",
    about: "The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes appear after a few seconds.",
    run: |call| {
        Box::pin(
            async move { render(inbound(&call)?.inbound.activity_of_unknown_partners().await?) },
        )
    },
    ..Route::DEFAULT
};

async fn of_source(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    render(inbound(&call)?.inbound.activity_of(&source).await?)
}

fn render(seen: SourceActivity) -> Result<Answer, Problem> {
    let data = seen.rejections.into_iter().map(RejectionView::from).collect();
    Answer::ok(&List::<RejectionView> { data, next_cursor: None })
}
