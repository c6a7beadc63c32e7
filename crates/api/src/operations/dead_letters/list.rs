//! `GET /v1/dlq`: newest first.

use gancho_access::Right;

use super::{
    TAG,
    filter::{self, DeadLetterFilter, REFUSALS},
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    input::{Request, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct DeadLettersQuery {
        flatten page: Paging,
        flatten filter: DeadLetterFilter,
    }
}

pub const ROUTE: Route = Route {
    path: "/dlq",
    operation_id: "listDeadLetters",
    needs: Needs::Anyone(Right::Read),
    query: DeadLettersQuery::FIELDS,
    refuses: REFUSALS,
    gives: Gives::ok::<List<DeadLetterRow>>("A page of dead letters, newest first."),
    tag: TAG,
    summary: "List dead letters",
    about: "A page ends after 4 MiB of `original_data`, and with a filter it may be empty: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: DeadLettersQuery = call.parse_query()?;
    let filter = filter::filter(&call, query.filter).await?;
    let page = Page::of(&call, call.owner().tenant(), &query.page)?;
    let found = call.api.reader.dead_letters(filter, page.request()?).await?;
    let data: Vec<DeadLetterRow> = DeadLetterRows::new(&call.api).all(found.rows).await?;
    page.answer(data, found.next)
}
