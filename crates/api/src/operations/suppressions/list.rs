//! `GET /v1/suppressions`: by address.

use gancho_access::Right;

use super::{TAG, view::Suppression};
use crate::{
    answer::Answer,
    codes,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    operations::emails,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/suppressions",
    needs: Needs::Tenant(Right::Read),
    query: &[LIMIT, CURSOR],
    gives: Gives::ok::<List<Suppression>>("A page of them, by address."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "List suppressed addresses",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let pages = Pages::of(call.route.path, Some(scope.tenant()), &call.query);
    let after = call.api.cursors.position(&pages, &call.query)?;
    let after = after.and_then(|bytes| String::from_utf8(bytes).ok());
    let most = call.query.count("limit").unwrap_or(ROWS) as usize;
    let desk = emails::desk(&call.api)?;
    let mut rows = desk.suppressions.list(scope, after.as_deref(), most + 1).await?;
    let has_more = rows.len() > most;
    rows.truncate(most);
    let last = rows.last().filter(|_| has_more);
    let next_cursor = last.map(|last| call.api.cursors.seal(&pages, last.address.as_bytes()));
    Answer::ok(&List { data: rows.into_iter().map(Suppression::from).collect(), next_cursor })
}
