//! `GET /v1/tenants/{tenant}/api-keys`: oldest first, those that were revoked included.

use gancho_store::Shelf;

use super::{TAG, view::ApiKeyView};
use crate::{
    answer::Answer,
    auth::{
        ApiKey,
        api_key::{SHELF, USED_SHELF, used_at},
    },
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

    let store = &call.api.store;
    let mut records = store.records(Shelf::of(scope, SHELF), after.as_deref(), most + 1).await?;
    let has_more = records.len() > most;
    records.truncate(most);
    let used = store.records(Shelf::of(scope, USED_SHELF), after.as_deref(), most + 1).await?;
    let next = records.last().filter(|_| has_more);
    let next_cursor = next.map(|last| call.api.cursors.seal(&pages, last.key.as_bytes()));
    let mut data = Vec::with_capacity(records.len());
    for record in &records {
        let last_used = used.iter().find(|used| used.key == record.key).and_then(used_at);
        data.push(ApiKeyView::of(&ApiKey::of_record(record)?, last_used));
    }
    Answer::ok(&List { data, next_cursor })
}
