//! `GET /v1/replays`: newest first.

use gancho_access::Right;
use gancho_outbound::Owner;

use super::{TAG, named, view::ReplayJob};
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
    about: "The operator without `X-Tenant` sees the replays of all tenants, each with its `tenant`, and its own.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let page = Page::of(&call, owner.tenant(), &call.parse_query()?)?;
    let (after, max) = (page.after_id(), page.max_read());
    let rows = match owner {
        Owner::Operator => call.api.replays.list_all(after, max).await?,
        Owner::Tenant(_) => call.api.replays.list(owner, after, max).await?,
    };
    let (rows, next_cursor) = page.cut(rows, |last| last.id.bytes().to_vec());
    let mut data = Vec::with_capacity(rows.len());
    for row in rows {
        data.push(named(&call, ReplayJob::from(row)).await?);
    }
    Answer::ok(&List { data, next_cursor })
}
