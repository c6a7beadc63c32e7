//! `GET /v1/events`: newest first, including events that matched no webhook.

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
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/events",
    needs: Needs::Tenant(Right::Read),
    query: &[
        LIMIT,
        CURSOR,
        Field::new("event_type", Kind::Id(Noun::EventType), "Only events of this type."),
        Field::new(
            "external_id",
            Kind::Text { min: 1, max: 256 },
            "Only events with this external id.",
        ),
        Field::new("unmatched", Kind::Flag, "`true`: only events that matched no webhook."),
        Field::new("since", Kind::Time, "Only events published at or after this time."),
        Field::new("until", Kind::Time, "Only events published before this time."),
    ],
    gives: Gives::ok::<List<EventSummary>>("A page of events, newest first."),
    tag: TAG,
    summary: "List events",
    about: "A page scans a limited number of events, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (principal, query) = (call.tenant()?, &call.query);
    let page = Page::of(&call, Some(principal.scope().tenant()))?;
    let filter = EventFilter {
        kind: parcel::Kind::Event,
        event_type: query.string("event_type"),
        external_id: query.string("external_id"),
        is_unmatched: query.flag("unmatched").unwrap_or(false),
        since: query.time("since"),
        until: query.time("until"),
    };
    let found = call.api.store.events(principal.scope(), filter, page.request()?).await?;
    page.answer(found.rows.into_iter().map(EventSummary::from).collect(), found.next)
}
