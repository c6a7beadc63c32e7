//! `POST /v1/ledger/checkpoint`: signs the current state of the ledger.

use http::Method;

use super::{TAG, problem, view::MadeCheckpoint};
use crate::{
    answer::Answer,
    codes,
    operations::sources::inbound,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/ledger/checkpoint",
    operation_id: "createLedgerCheckpoint",
    needs: Needs::Operator,
    gives: Gives::ok::<MadeCheckpoint>("The checkpoint over all lines of the ledger."),
    refuses: &[&codes::RECEIVING_OFF, &codes::LEDGER_BROKEN, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create a ledger checkpoint",
    about: "Verifies all lines that this node has not verified yet, then signs a checkpoint. A ledger that fails verification is not signed.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let checkpointer = &inbound(&call)?.checkpointer;
    let made = checkpointer.run_once(false).await.map_err(problem)?;
    let standing = checkpointer.status().await.map_err(problem)?;
    Answer::ok(&MadeCheckpoint { ledger: standing.into(), is_new: made.is_some() })
}
