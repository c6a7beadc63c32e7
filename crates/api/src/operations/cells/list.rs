//! `GET /v1/cells`: the home cell first.

use super::{TAG, service, view::CellView};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/cells",
    operation_id: "listCells",
    needs: Needs::Operator,
    gives: Gives::ok::<List<CellView>>("The cells, the home cell first."),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "List cells",
    about: "Lists the databases of the gateway. Each tenant lives in one of them. `is_available` is what the node that answers sees.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let cells = service(&call.api)?.cells().await?;
    let data = cells.into_iter().map(CellView::from).collect();
    Answer::ok(&List::<CellView> { data, next_cursor: None })
}
