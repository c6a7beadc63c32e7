//! `GET /v1/replays`: newest first.

use gancho_access::Right;

use super::{TAG, view::ReplayJob};
use crate::{
    answer::Answer,
    input::{Request, query::Paging},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/replays",
    operation_id: "listReplays",
    needs: Needs::Anyone(Right::Read),
    query: Paging::FIELDS,
    gives: Gives::ok::<List<ReplayJob>>("A page of replays, newest first."),
    tag: TAG,
    summary: "List replays",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let page = Page::of(&call, owner.tenant(), &call.parse_query()?)?;
    let rows = call.api.replays.list(owner, page.after_id(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.id.bytes().to_vec());
    Answer::ok(&List { data: rows.into_iter().map(ReplayJob::from).collect(), next_cursor })
}
