//! `DELETE /v1/sources/{partner}`: deletes a source and its keys. Receipts are kept.

use http::Method;

use super::{TAG, inbound, partner};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/sources/{partner}",
    operation_id: "deleteSource",
    needs: Needs::Operator,
    gives: Gives::no_content("The source and its keys are deleted."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Delete a source",
    about: "Receipts stay in the ledger. Receipts that are still waiting to be dispatched become dead letters.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    inbound(&call)?.sources.delete(&partner(&call)?).await?;
    Ok(Answer::no_content())
}
