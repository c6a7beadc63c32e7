//! `GET /v1/events`: newest first, including events that matched no webhook.

use gancho_access::Right;
use gancho_domain::{Time, parcel};
use gancho_store::EventFilter;

use super::{TAG, view::EventSummary};
use crate::{
    answer::Answer,
    input::{Request, field::Noun, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct EventsQuery {
        flatten page: Paging,
        /// Only events of this type.
        optional event_type: String as id(Noun::EventType),
        /// Only events with this external id.
        optional external_id: String as text(1, 256),
        /// `true`: only events that matched no webhook.
        optional unmatched: bool as flag(),
        /// Only events published at or after this time.
        optional since: Time as time(),
        /// Only events published before this time.
        optional until: Time as time(),
    }
}

pub const ROUTE: Route = Route {
    path: "/events",
    needs: Needs::Tenant(Right::Read),
    query: EventsQuery::FIELDS,
    gives: Gives::ok::<List<EventSummary>>("A page of events, newest first."),
    tag: TAG,
    summary: "List events",
    about: "A page scans a limited number of events, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let query: EventsQuery = call.parse_query()?;
    let page = Page::of(&call, Some(principal.scope().tenant()), &query.page)?;
    let filter = EventFilter {
        kind: parcel::Kind::Event,
        event_type: query.event_type,
        external_id: query.external_id,
        is_unmatched: query.unmatched.unwrap_or(false),
        since: query.since,
        until: query.until,
    };
    let found = call.api.store.events(principal.scope(), filter, page.request()?).await?;
    page.answer(found.rows.into_iter().map(EventSummary::from).collect(), found.next)
}
