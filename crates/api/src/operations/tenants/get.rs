//! `GET /v1/tenants/{tenant}`: by slug or id.

use super::{TAG, find, view::TenantView};
use crate::{
    answer::Answer,
    codes,
    route::{Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/tenants/{tenant}",
    operation_id: "getTenant",
    needs: Needs::Operator,
    gives: Gives::ok::<TenantView>("The tenant."),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Get a tenant",
    run: |call| {
        Box::pin(async move {
            let tenant = find(&call).await?;
            Answer::ok(&TenantView::from(&*tenant))
        })
    },
    ..Route::DEFAULT
};
