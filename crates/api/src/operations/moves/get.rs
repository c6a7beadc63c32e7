//! `GET /v1/tenants/{tenant}/move`: how far it is.

use super::view::MoveView;
use crate::{
    answer::Answer,
    codes,
    operations::{
        cells::{TAG, service},
        tenants::find,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/tenants/{tenant}/move",
    operation_id: "getTenantMove",
    needs: Needs::Operator,
    gives: Gives::ok::<MoveView>("The last move of the tenant."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::CONFLICT],
    tag: TAG,
    summary: "Get the move of a tenant",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = find(&call).await?;
    let found = service(&call.api)?.tenant_move(tenant.id).await?;
    let found = found.ok_or_else(|| {
        Problem::new(&codes::CONFLICT, "this tenant has never been moved to another cell")
    })?;
    Answer::ok(&MoveView::from(found))
}
