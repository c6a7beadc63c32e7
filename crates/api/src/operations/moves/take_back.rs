//! `DELETE /v1/tenants/{tenant}/move`: the tenant stays where it is.

use http::Method;

use super::view::MoveView;
use crate::{
    answer::Answer,
    codes,
    operations::{
        cells::{TAG, refused, service},
        tenants::find,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    method: Method::DELETE,
    path: "/tenants/{tenant}/move",
    operation_id: "takeBackTenantMove",
    needs: Needs::Operator,
    gives: Gives::accepted::<MoveView>("The move, which is being taken back."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::CONFLICT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Take back the move of a tenant",
    about: "The tenant stays in its cell, and what was copied is removed. This is refused once the tenant lives in the new cell; move it to the old one then.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = find(&call).await?;
    let taken = service(&call.api)?.take_tenant_back(tenant.id).await.map_err(refused)?;
    Answer::accepted(&MoveView::from(taken))
}
