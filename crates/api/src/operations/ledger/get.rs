//! `GET /v1/ledger`.

use super::{TAG, problem, view::LedgerView};
use crate::{
    answer::Answer,
    codes,
    operations::sources::inbound,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/ledger",
    operation_id: "getLedger",
    needs: Needs::Operator,
    gives: Gives::ok::<LedgerView>("Size of the ledger, and its newest checkpoint."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Get the ledger status",
    about: "This operation verifies nothing; run `gancho ledger verify` to check every line.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let standing = inbound(&call)?.checkpointer.status().await.map_err(problem)?;
    Answer::ok(&LedgerView::from(standing))
}
