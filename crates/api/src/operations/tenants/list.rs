//! `GET /v1/tenants`: by slug.

use super::{TAG, view::TenantView};
use crate::{
    answer::Answer,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/tenants",
    operation_id: "listTenants",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<TenantView>>("A page of tenants, by slug."),
    tag: TAG,
    summary: "List tenants",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, None, &call.parse_query()?)?;
    let rows = call.api.store.tenants_to_show(page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.slug.as_str().into());
    Answer::ok(&List { data: rows.iter().map(TenantView::from).collect(), next_cursor })
}
