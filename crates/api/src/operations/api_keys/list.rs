//! `GET /v1/tenants/{tenant}/api-keys`: oldest first, those that were revoked included.

use super::{TAG, view::ApiKeyView};
use crate::{
    answer::Answer,
    codes,
    cursor::Pages,
    input::query::{CURSOR, LIMIT, ROWS},
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/tenants/{tenant}/api-keys",
    needs: Needs::Operator,
    query: &[LIMIT, CURSOR],
    gives: Gives::ok::<List<ApiKeyView>>(
        "A page of them, oldest first, without the keys themselves.",
    ),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "List API keys",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    let scope = call.operator()?.act_for(tenant).scope();
    let pages = Pages::of(call.route.path, Some(scope.tenant()), &call.query);
    let after = call.api.cursors.position(&pages, &call.query)?;
    let after = after.and_then(|bytes| String::from_utf8(bytes).ok());
    let most = call.query.count("limit").unwrap_or(ROWS) as usize;

    let mut keys = call.api.access.keys.list(scope, after.as_deref(), most + 1).await?;
    let has_more = keys.len() > most;
    keys.truncate(most);
    let next = keys.last().filter(|_| has_more);
    let next_cursor =
        next.map(|last| call.api.cursors.seal(&pages, last.key.id.to_string().as_bytes()));
    let data = keys.iter().map(|one| ApiKeyView::of(&one.key, one.last_used_at)).collect();
    Answer::ok(&List { data, next_cursor })
}
