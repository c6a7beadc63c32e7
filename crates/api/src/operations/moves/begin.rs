//! `POST /v1/tenants/{tenant}/move`: to another cell.

use http::Method;

use super::view::MoveView;
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    operations::{
        cells::{TAG, refused, service},
        tenants::find,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct MoveBody {
        /// Name of the cell that the tenant moves to.
        required cell: String as text(1, 40),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/tenants/{tenant}/move",
    operation_id: "moveTenant",
    needs: Needs::Operator,
    takes: Takes::Body(MoveBody::FIELDS),
    gives: Gives::accepted::<MoveView>("The move, which goes on in the background."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Move a tenant to another cell",
    about: "Moves the tenant with all of its data to another database of the gateway, while it is in use. Its requests are refused with `tenant_moving` for less than a second. If the same move is under way already, it goes on.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let MoveBody { cell } = call.parse_body()?;
    let tenant = find(&call).await?;
    let begun = service(&call.api)?.move_tenant(tenant.id, &cell).await.map_err(refused)?;
    Answer::accepted(&MoveView::from(begun))
}
