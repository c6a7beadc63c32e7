//! `GET /v1/search?q=`: what has this id or name.

use gancho_access::{Principal, Right};
use gancho_domain::{TenantId, TenantScope};

use super::{TAG, by_id, by_name, view::SearchResult};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct SearchQuery {
        /// The text to search for: an id, in any case and with or without its prefix; an external id; an event type; the
        /// slug or name of a tenant; the name of a partner; or the name or a part of the URL of a webhook.
        required q: String as text(1, 256),
    }
}

pub const ROUTE: Route = Route {
    path: "/search",
    operation_id: "search",
    needs: Needs::Anyone(Right::Read),
    query: SearchQuery::FIELDS,
    gives: Gives::ok::<SearchResult>("What was found."),
    refuses: &[&codes::MISSING_FIELD],
    tag: TAG,
    summary: "Search",
    about: "Finds events, deliveries, webhooks, e-mails, replays and event types. The operator without `X-Tenant` searches all tenants, and finds tenants, API keys, sources and receipts as well. If the text is an id that exists, that is the only match.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let SearchQuery { q } = call.parse_query()?;
    let text = q.trim();
    let data = by_id::find(&call, text).await?;
    if !data.is_empty() {
        return Answer::ok(&SearchResult { data, is_complete: true });
    }
    Answer::ok(&by_name::find(&call, text).await?)
}

/// The scope in which the caller may read the data of a tenant.
pub(super) fn scope(call: &Call, tenant: TenantId) -> Option<TenantScope> {
    match &call.principal {
        Principal::Operator(operator) => Some(operator.scope_of(tenant)),
        Principal::Tenant(principal) => {
            Some(principal.scope()).filter(|scope| scope.tenant() == tenant)
        }
    }
}

/// The slug of a tenant, from a cache. A source has none.
pub(super) async fn slug(call: &Call, tenant: TenantId) -> Result<Option<String>, Problem> {
    let found = call.api.access.tenants.get(tenant).await?;
    Ok(found.map(|tenant| tenant.slug.clone()))
}
