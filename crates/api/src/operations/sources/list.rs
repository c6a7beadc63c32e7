//! `GET /v1/sources`: by name.

use super::{TAG, inbound, view::SourceView};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/sources",
    operation_id: "listSources",
    needs: Needs::Operator,
    query: Paging::FIELDS,
    gives: Gives::ok::<List<SourceView>>("A page of sources, by name."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List sources",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let page = Page::of(&call, None, &call.parse_query()?)?;
    let rows = inbound(&call)?.sources.list(page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.partner.as_str().into());
    Answer::ok(&List { data: rows.iter().map(SourceView::from).collect(), next_cursor })
}
