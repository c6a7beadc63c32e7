//! `GET /v1/dlq`: newest first.

use gancho_access::Right;

use super::{
    TAG,
    filter::{self, CODE, LANE, PARTNER, REFUSALS, SINCE, TENANT, UNTIL},
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    input::query::{CURSOR, LIMIT},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/dlq",
    needs: Needs::Anyone(Right::Read),
    query: &[LIMIT, CURSOR, LANE, TENANT, PARTNER, CODE, SINCE, UNTIL],
    refuses: REFUSALS,
    gives: Gives::ok::<List<DeadLetterRow>>("A page of dead letters, newest first."),
    tag: TAG,
    summary: "List dead letters",
    about: "A page ends after 4 MiB of `original_data`, and with a filter it may be empty: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter::filter(&call, &call.query).await?;
    let page = Page::of(&call, call.owner().tenant())?;
    let found = call.api.store.dead_letters(filter, page.request()?).await?;
    let data: Vec<DeadLetterRow> = DeadLetterRows::new(&call.api).all(found.rows).await?;
    page.answer(data, found.next)
}
