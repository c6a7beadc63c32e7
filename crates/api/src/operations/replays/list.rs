//! `GET /v1/replays`: newest first.

use gancho_access::Right;
use gancho_domain::ReplayId;

use super::{TAG, view::ReplayJob};
use crate::{
    answer::Answer,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/replays",
    needs: Needs::Anyone(Right::Read),
    query: &[LIMIT, CURSOR],
    gives: Gives::ok::<List<ReplayJob>>("A page of them, newest first."),
    tag: TAG,
    summary: "List replays",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let pages = Pages::of(call.route.path, owner.tenant(), &call.query);
    let after = call.api.cursors.position(&pages, &call.query)?;
    let after = after.and_then(|bytes| bytes.try_into().ok()).map(ReplayId::from_bytes);
    let most = call.query.count("limit").unwrap_or(ROWS) as usize;
    let mut rows = call.api.replays.list(owner, after, most + 1).await?;
    let has_more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().filter(|_| has_more);
    let next_cursor = next.map(|last| call.api.cursors.seal(&pages, &last.id.bytes()));
    Answer::ok(&List { data: rows.into_iter().map(ReplayJob::from).collect(), next_cursor })
}
