//! `GET /v1/dlq`: newest first.

use gancho_access::Right;
use gancho_store::PageRequest;

use super::{
    TAG,
    filter::{self, CODE, LANE, PARTNER, REFUSALS, SINCE, TENANT, UNTIL},
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/dlq",
    needs: Needs::Anyone(Right::Read),
    query: &[LIMIT, CURSOR, LANE, TENANT, PARTNER, CODE, SINCE, UNTIL],
    refuses: REFUSALS,
    gives: Gives::ok::<List<DeadLetterRow>>("A page of them, newest first."),
    tag: TAG,
    summary: "List dead letters",
    about: "A page ends after 4 MiB of `original_data`, and with a filter it may hold none: the list ends where `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query = &call.query;
    let filter = filter::filter(&call, query).await?;
    let pages = Pages::of(call.route.path, call.owner().tenant(), query);
    let request = PageRequest::new(
        query.count("limit").unwrap_or(ROWS) as usize,
        call.api.cursors.place(&pages, query)?,
    );
    let page = call.api.store.dead_letters(filter, request).await?;
    let data: Vec<DeadLetterRow> = DeadLetterRows::new(&call.api).all(page.rows).await?;
    Answer::ok(&List {
        data,
        next_cursor: page.next.map(|place| call.api.cursors.seal(&pages, &place)),
    })
}
