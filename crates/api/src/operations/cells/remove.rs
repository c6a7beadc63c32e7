//! `DELETE /v1/cells/{cell}`: removes a cell from the gateway. Its database stays as it is.

use http::Method;

use super::{TAG, refused, service};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, PEER_TIMEOUT, Route},
};

request! {
    struct RemoveQuery {
        /// `true` to remove a cell that does not respond. Events that were published with SQL and wait in it are lost.
        optional lost: bool as flag(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/cells/{cell}",
    operation_id: "removeCell",
    needs: Needs::Operator,
    query: RemoveQuery::FIELDS,
    gives: Gives::no_content("The cell is removed."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Remove a cell",
    about: "The cell must be draining, and no tenant may live in it. All nodes close it within seconds. Its database stays as it is.",
    timeout: PEER_TIMEOUT,
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let RemoveQuery { lost } = call.parse_query()?;
    let (service, name) = (service(&call.api)?, call.path_param("cell"));
    if !service.remove(name, lost.unwrap_or(false)).await.map_err(refused)? {
        return Err(Problem::not_found(ResourceKind::Cell));
    }
    Ok(Answer::no_content())
}
