//! `GET /v1/events`: newest first, those that matched no webhook included.

use gancho_access::Right;
use gancho_domain::parcel;
use gancho_store::EventFilter;

use super::{TAG, view::EventSummary};
use crate::{
    answer::Answer,
    input::{
        Field, Kind,
        field::Noun,
        query::{CURSOR, LIMIT},
    },
    page::Page,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const ROUTE: Route = Route {
    path: "/events",
    needs: Needs::Tenant(Right::Read),
    query: &[
        LIMIT,
        CURSOR,
        Field::new("event_type", Kind::Id(Noun::EventType), "Only of this type."),
        Field::new(
            "external_id",
            Kind::Text { least: 1, most: 256 },
            "Only with the publisher's own id.",
        ),
        Field::new("unmatched", Kind::Flag, "`true`: only those that no webhook wanted."),
        Field::new("since", Kind::Time, "Published at or after."),
        Field::new("until", Kind::Time, "Published before."),
    ],
    gives: Gives::ok::<List<EventSummary>>("A page of them, newest first."),
    tag: TAG,
    summary: "List events",
    about: "With a filter a page may hold fewer than `limit`, even none, and still have a next: it looks at a bounded number of events.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (acting, query) = (call.tenant()?, &call.query);
    let page = Page::of(&call, Some(acting.scope().tenant()))?;
    let filter = EventFilter {
        kind: parcel::Kind::Event,
        event_type: query.string("event_type"),
        external_id: query.string("external_id"),
        is_unmatched: query.flag("unmatched").unwrap_or(false),
        since: query.time("since"),
        until: query.time("until"),
    };
    let found = call.api.store.events(acting.scope(), filter, page.request()?).await?;
    page.answer(found.rows.into_iter().map(EventSummary::from).collect(), found.next)
}
