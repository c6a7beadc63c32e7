//! `GET /v1/audit`: newest first.

use gancho_access::{ActorKind, Principal, Right};
use gancho_domain::Time;
use gancho_store::AuditFilter;

use super::view::AuditEntryView;
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging, request, time_range},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct AuditQuery {
        flatten page: Paging,
        /// Only actions of this kind of caller. Operator only.
        optional actor_kind: ActorKind as choice(ActorKind::NAMES),
        /// Only actions of the user with this name, or of the API key with this id. Operator only.
        optional actor: String as text(1, 128),
        /// Only this operation: its `operationId`, or `log_in`.
        optional operation: String as text(1, 128),
        /// Only actions on the object with this id or name.
        optional resource: String as text(1, 128),
        /// Only actions that were `done`, or only those that were `refused`.
        optional outcome: String as choice(&["done", "refused"]),
        /// Only actions at or after this time.
        optional since: Time as time(),
        /// Only actions before this time.
        optional until: Time as time(),
    }
}

pub const ROUTE: Route = Route {
    path: "/audit",
    operation_id: "listAuditEntries",
    needs: Needs::Anyone(Right::Read),
    query: AuditQuery::FIELDS,
    gives: Gives::ok::<List<AuditEntryView>>("A page of entries, newest first."),
    refuses: &[&codes::OPERATOR_ONLY],
    tag: "Audit log",
    summary: "List audit log entries",
    about: "Changes of configuration, keys, secrets and pauses, replays, and logins, done or refused. Publishing is not part of it, nor are retries by API keys. A tenant sees the actions on its own data; users of the operator are not named there, and their reasons are left out.\n\nA page scans a limited number of entries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: AuditQuery = call.parse_query()?;
    let is_tenants_own = match &call.principal {
        Principal::Tenant(principal) => !principal.is_operator(),
        Principal::Operator(_) => false,
    };
    if is_tenants_own && (query.actor_kind.is_some() || query.actor.is_some()) {
        let text = "only the operator can filter by actor; leave out `actor` and `actor_kind`";
        return Err(Problem::new(&codes::OPERATOR_ONLY, text));
    }
    time_range::check(query.since, query.until)?;
    let tenant = call.principal.tenant();
    let page = Page::of(&call, tenant, &query.page)?;
    let filter = AuditFilter {
        tenant,
        actor_kind: query.actor_kind,
        actor: query.actor,
        operation: query.operation,
        resource: query.resource,
        is_done: query.outcome.map(|outcome| outcome == "done"),
        since: query.since,
        until: query.until,
    };
    let found = call.api.reader.audit(filter, page.request()?).await?;
    let view = if is_tenants_own { AuditEntryView::for_tenant } else { AuditEntryView::from };
    page.answer(found.rows.into_iter().map(view).collect(), found.next)
}
