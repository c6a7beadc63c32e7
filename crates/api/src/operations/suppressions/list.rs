//! `GET /v1/suppressions`: by address.

use gancho_access::{Principal, Right};

use super::{TAG, view::Suppression};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    operations::emails,
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/suppressions",
    operation_id: "listSuppressions",
    needs: Needs::Anyone(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<Suppression>>("A page of suppressed addresses, in alphabetical order."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "List suppressed addresses",
    about: "The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, ordered by tenant.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, call.owner().tenant(), &call.parse_query()?)?;
    let suppressions = &emails::mail(&call.api)?.suppressions;
    let Principal::Tenant(principal) = &call.principal else { return of_all(&call, &page).await };
    let scope = principal.scope();
    let rows = suppressions.list(scope, page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.address.as_str().into());
    Answer::ok(&List { data: rows.into_iter().map(Suppression::from).collect(), next_cursor })
}

/// A cursor names the tenant and the address of the last row.
async fn of_all(call: &Call, page: &Page<'_>) -> Result<Answer, Problem> {
    let suppressions = &emails::mail(&call.api)?.suppressions;
    let after = page.after_name().and_then(|name| name.split_once('/'));
    let after = after.and_then(|(tenant, address)| Some((tenant.parse().ok()?, address.into())));
    let rows = suppressions.list_all(after, page.max_read()).await?;
    let (rows, next_cursor) =
        page.cut(rows, |(tenant, last)| format!("{tenant}/{}", last.address).into());
    let mut data = Vec::with_capacity(rows.len());
    for (tenant, address) in rows {
        // A tenant is looked up in a cache.
        let owner = call.api.access.tenants.get(tenant).await?;
        let tenant = owner.map_or_else(|| tenant.to_string(), |owner| owner.slug.clone());
        data.push(Suppression { tenant: Some(tenant), ..address.into() });
    }
    Answer::ok(&List { data, next_cursor })
}
