//! `GET /v1/webhooks/events`: everything that can be published, by name.

use gancho_access::Right;

use super::{TAG, view::EventType};
use crate::{
    answer::Answer,
    cursor::Pages,
    input::{
        Field, Kind,
        query::{CURSOR, LIMIT, MOST_ROWS},
    },
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks/events",
    needs: Needs::Anyone(Right::Read),
    query: &[
        LIMIT,
        CURSOR,
        Field::new(
            "catalog",
            Kind::Choice(&["email", "agents", "saas", "operations", "operator", "tenant"]),
            "Only event types of this catalog.",
        ),
    ],
    gives: Gives::ok::<List<EventType>>("A page of event types, by name."),
    tag: TAG,
    summary: "List event types",
    about: "The catalogs `email`, `agents` and `saas` are built in. The default `limit` is 500.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (owner, query) = (call.owner(), &call.query);
    let pages = Pages::of(call.route.path, owner.tenant(), query);
    let after = call.api.cursors.position(&pages, query)?;
    let most = query.count("limit").unwrap_or(MOST_ROWS) as usize;
    let all = call.api.event_types.list(owner).await?;
    let mut rest = all.into_iter().filter(|one| {
        query.text("catalog").is_none_or(|name| one.catalog.name() == name)
            && after.as_ref().is_none_or(|after| one.name.as_bytes() > after.as_slice())
    });
    let shown: Vec<_> = rest.by_ref().take(most).map(EventType::from).collect();
    let has_more = rest.next().is_some();
    let next = shown.last().filter(|_| has_more);
    let next_cursor = next.map(|last| call.api.cursors.seal(&pages, last.name.as_bytes()));
    Answer::ok(&List { data: shown, next_cursor })
}
