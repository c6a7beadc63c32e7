//! `GET /v1/cells/{cell}/tenants`: by slug.

use super::{TAG, service, view::CellTenantView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/cells/{cell}/tenants",
    operation_id: "listCellTenants",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<CellTenantView>>(
        "A page of the tenants that live in the cell, by slug.",
    ),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "List the tenants of a cell",
    about: "A tenant that is being moved is listed in the cell where it lives: the old one, until its move switches to the new one.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, None, &call.parse_query()?)?;
    let name = call.path_param("cell");
    let rows = service(&call.api)?.tenants(name, page.after_name(), page.max_read()).await?;
    let rows = rows.ok_or_else(|| Problem::not_found(ResourceKind::Cell))?;
    let (rows, next_cursor) = page.cut(rows, |last| last.slug.as_str().into());
    Answer::ok(&List { data: rows.into_iter().map(CellTenantView::from).collect(), next_cursor })
}
