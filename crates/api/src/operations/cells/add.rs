//! `POST /v1/cells`: makes an empty database a cell.

use http::Method;

use super::{TAG, refused, service, view::CellView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, PEER_TIMEOUT, Route, Takes},
};

request! {
    /// A new cell.
    struct NewCellBody {
        /// Name of the cell: lower-case letters, digits and `-`. Unique; cannot be changed.
        required name: String as text(1, 40),
        /// URL of the database, e.g. `postgres://user:password@host:5432/database?sslmode=require`. `schema=` selects a
        /// schema of it. Never returned.
        required url: String as secret(2_000),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/cells",
    operation_id: "addCell",
    needs: Needs::Operator,
    takes: Takes::Body(NewCellBody::FIELDS),
    gives: Gives::created::<CellView>("The cell."),
    refuses: &[&codes::TAKEN, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Add a cell",
    about: "Creates the tables in an empty PostgreSQL database and uses it for new tenants. All nodes use it within seconds. The URL is stored encrypted.",
    timeout: PEER_TIMEOUT,
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let NewCellBody { name, url } = call.parse_body()?;
    let service = service(&call.api)?;
    service.add(&name, &url).await.map_err(refused)?;
    let added = service.cells().await?.into_iter().find(|cell| cell.name == name);
    let added = added.ok_or_else(|| Problem::internal("the cell is not listed"))?;
    Answer::created(&CellView::from(added))
}
