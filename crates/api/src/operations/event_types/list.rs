//! `GET /v1/webhooks/events`: all event types that can be published, by name.

use gancho_access::Right;

use super::{TAG, view::EventType};
use crate::{
    answer::Answer,
    cursor::CursorScope,
    input::{Request, query::MAX_ROWS, request},
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct EventTypesQuery {
        /// Maximum number of items per page. Default: 500.
        optional limit: u64 as count(1, MAX_ROWS),
        /// The `next_cursor` of the previous page.
        optional cursor: String as cursor(),
        /// Only event types of this catalog.
        optional catalog: String as choice(&["email", "agents", "saas", "operations", "operator", "tenant"]),
    }
}

pub const ROUTE: Route = Route {
    path: "/webhooks/events",
    operation_id: "listEventTypes",
    needs: Needs::Anyone(Right::Read),
    query: EventTypesQuery::FIELDS,
    gives: Gives::ok::<List<EventType>>("A page of event types, by name."),
    tag: TAG,
    summary: "List event types",
    about: "The catalogs `email`, `agents`, `saas` and `operations` are built in.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let owner = call.owner();
    let EventTypesQuery { limit, cursor, catalog } = call.parse_query()?;
    let scope = CursorScope::of(call.route.path, owner.tenant(), &call.parameters);
    let cursor = cursor.as_deref();
    let after = cursor.map(|cursor| call.api.cursors.open(&scope, cursor)).transpose()?;
    let max = limit.unwrap_or(MAX_ROWS) as usize;
    let all = call.api.event_types.list(owner).await?;
    let mut rest = all.into_iter().filter(|one| {
        catalog.as_deref().is_none_or(|name| one.catalog.name() == name)
            && after.as_ref().is_none_or(|after| one.name.as_bytes() > after.as_slice())
    });
    let items: Vec<_> = rest.by_ref().take(max).map(EventType::from).collect();
    let has_more = rest.next().is_some();
    let next = items.last().filter(|_| has_more);
    let next_cursor = next.map(|last| call.api.cursors.seal(&scope, last.name.as_bytes()));
    Answer::ok(&List { data: items, next_cursor })
}
