//! `PATCH /v1/cells/{cell}`: whether it gets new tenants.

use http::Method;

use super::{TAG, refused, service, view::CellView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct CellBody {
        /// `true`: drain the cell, so that it gets no new tenants. Tenants that live in it stay.
        required is_draining: bool as flag(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::PATCH,
    path: "/cells/{cell}",
    operation_id: "updateCell",
    needs: Needs::Operator,
    takes: Takes::Body(CellBody::FIELDS),
    gives: Gives::ok::<CellView>("The updated cell."),
    refuses: &[&codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Update a cell",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let CellBody { is_draining } = call.parse_body()?;
    let (service, name) = (service(&call.api)?, call.path_param("cell"));
    if !service.set_draining(name, is_draining).await.map_err(refused)? {
        return Err(Problem::not_found(ResourceKind::Cell));
    }
    let changed = service.cells().await?.into_iter().find(|cell| cell.name == name);
    let changed = changed.ok_or_else(|| Problem::not_found(ResourceKind::Cell))?;
    Answer::ok(&CellView::from(changed))
}
