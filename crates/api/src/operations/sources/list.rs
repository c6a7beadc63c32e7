//! `GET /v1/sources`: by name.

use super::{TAG, parts, view::SourceView};
use crate::{
    answer::Answer,
    codes,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/sources",
    needs: Needs::Operator,
    query: &[LIMIT, CURSOR],
    gives: Gives::ok::<List<SourceView>>("A page of them, by name."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List sources",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let pages = Pages::of(call.route.path, None, &call.query);
    let after = call.api.cursors.position(&pages, &call.query)?;
    let after = after.and_then(|bytes| String::from_utf8(bytes).ok());
    let most = call.query.count("limit").unwrap_or(ROWS) as usize;
    let mut rows = parts(&call)?.desk.list(after.as_deref(), most + 1).await?;
    let has_more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().filter(|_| has_more);
    Answer::ok(&List {
        data: rows.iter().map(SourceView::from).collect(),
        next_cursor: next
            .map(|last| call.api.cursors.seal(&pages, last.partner.as_str().as_bytes())),
    })
}
