//! `GET /v1/events`: newest first, including events that matched no webhook.

use gancho_access::{Principal, Right};
use gancho_domain::{Time, parcel};
use gancho_store::{EventFilter, TenantRow};

use super::{TAG, view::EventSummary};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, query::Paging, request, time_range},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct EventsQuery {
        flatten page: Paging,
        /// Only events of this type.
        optional event_type: String as id(ResourceKind::EventType),
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
    operation_id: "listEvents",
    needs: Needs::Anyone(Right::Read),
    refuses: &[&codes::TENANT_REQUIRED],
    query: EventsQuery::FIELDS,
    gives: Gives::ok::<List<EventSummary>>("A page of events, newest first."),
    tag: TAG,
    summary: "List events",
    about: "The operator without `X-Tenant` sees the events of all tenants, each with its `tenant`, and cannot filter by `external_id`. A page scans a limited number of events, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: EventsQuery = call.parse_query()?;
    let page = Page::of(&call, call.owner().tenant(), &query.page)?;
    time_range::check(query.since, query.until)?;
    let filter = EventFilter {
        kind: parcel::ParcelKind::Event,
        event_type: query.event_type,
        external_id: query.external_id,
        is_unmatched: query.unmatched.unwrap_or(false),
        since: query.since,
        until: query.until,
    };
    match &call.principal {
        Principal::Tenant(principal) => {
            let found = call.api.reader.events(principal.scope(), filter, page.request()?).await?;
            page.answer(found.rows.into_iter().map(EventSummary::from).collect(), found.next)
        }
        Principal::Operator(_) => of_all_tenants(&call, &page, filter).await,
    }
}

async fn of_all_tenants(
    call: &Call,
    page: &Page<'_>,
    filter: EventFilter,
) -> Result<Answer, Problem> {
    if filter.external_id.is_some() {
        let detail = "`external_id` is unique per tenant only; name the tenant with `X-Tenant`";
        return Err(Problem::new(&codes::TENANT_REQUIRED, detail));
    }
    let found = call.api.reader.all_events(filter, page.request()?).await?;
    let mut data = Vec::with_capacity(found.rows.len());
    for TenantRow { tenant, row } in found.rows {
        let owner = call.api.access.tenants.get(tenant).await?;
        let tenant = owner.map(|owner| owner.slug.clone());
        data.push(EventSummary { tenant, ..EventSummary::from(row) });
    }
    page.answer(data, found.next)
}
