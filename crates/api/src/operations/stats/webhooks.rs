//! `GET /v1/stats/webhooks`: the last 24 hours of many webhooks, hour by hour.

use std::{collections::BTreeMap, time::Duration};

use gancho_access::{Principal, Right};
use gancho_domain::{EndpointId, Lane, TenantId, TenantScope};
use gancho_store::{StatisticsPoint, statistics::MAX_POINTS};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    bins::BinPlan,
    view::{DeliveryFigures, StatsBin, render, totals},
};
use crate::{
    answer::Answer,
    input::{
        Request,
        query::{DEFAULT_ROWS, Paging},
        request,
    },
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct WebhookStatsQuery {
        flatten page: Paging,
        /// `newest`: all webhooks, newest first. `failures`: one page of those with failed attempts in
        /// the last hour, at most 100, the worst first. Default: `newest` for a tenant, `failures` for the operator.
        optional order: String as choice(&["newest", "failures"]),
        /// Only these webhooks, in this order: at most 100 ids, separated by commas. Those that do not exist are left
        /// out. Cannot be combined with `order`, `limit` and `cursor`.
        optional webhook_ids: String as text(1, 4_000),
    }
}

/// Figures of one webhook over the last 24 hours.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookStats {
    /// Id of the webhook (`wh_…`).
    pub webhook_id: String,
    /// Id of the tenant that the webhook belongs to.
    pub tenant_id: String,
    /// Display name of the webhook, which may be empty; null if the webhook was deleted.
    pub name: Option<String>,
    /// Figures of the last 24 hours.
    pub totals: DeliveryFigures,
    /// The last 24 hours by hour, oldest first.
    pub bins: Vec<StatsBin>,
}

pub const ROUTE: Route = Route {
    path: "/stats/webhooks",
    operation_id: "listWebhookStats",
    needs: Needs::Anyone(Right::Read),
    query: WebhookStatsQuery::FIELDS,
    gives: Gives::ok::<List<WebhookStats>>("A page of webhooks with their figures."),
    tag: TAG,
    summary: "List statistics of webhooks",
    about: "The operator without `X-Tenant` gets the webhooks of all tenants, those that fail by default. Figures are a few seconds late.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

/// Maximum webhooks of the order `failures`.
const MAX_FAILING: u64 = 100;
/// Maximum webhooks that are named.
const MAX_NAMED: usize = 100;
const RANGE: Duration = Duration::from_hours(24);
const STEP: Duration = Duration::from_hours(1);
/// Webhooks whose figures are read at once.
const MAX_READ: usize = MAX_POINTS / 24;

/// A webhook of the page.
struct ListedWebhook {
    scope: TenantScope,
    id: EndpointId,
    name: Option<String>,
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: WebhookStatsQuery = call.parse_query()?;
    let is_operator = matches!(call.principal, Principal::Operator(_));
    let by_failures = query.order.as_deref().map_or(is_operator, |order| order == "failures");
    let (listed, next_cursor) = if let Some(ids) = &query.webhook_ids {
        if query.order.is_some() || query.page.limit.is_some() || query.page.cursor.is_some() {
            let message = "`webhook_ids` cannot be combined with `order`, `limit` and `cursor`";
            return Err(Problem::field("", message));
        }
        (named(&call, ids).await?, None)
    } else if by_failures {
        let max = query.page.limit.unwrap_or(DEFAULT_ROWS).min(MAX_FAILING);
        (failing(&call, max as usize).await?, None)
    } else {
        newest(&call, &query.page).await?
    };
    let plan = BinPlan::of(RANGE, STEP, call.api.clock.now());
    let figures = read(&call, &plan, &listed).await?;
    let data = listed.into_iter().map(|one| {
        let points = figures.get(&(one.scope.tenant(), one.id));
        let bins = plan.fill(points.into_iter().flatten());
        WebhookStats {
            webhook_id: one.id.to_string(),
            tenant_id: one.scope.tenant().to_string(),
            name: one.name,
            totals: totals(&bins),
            bins: render(&bins),
        }
    });
    Answer::ok(&List { data: data.collect(), next_cursor })
}

async fn newest(
    call: &Call,
    paging: &Paging,
) -> Result<(Vec<ListedWebhook>, Option<String>), Problem> {
    let page = Page::of(call, call.owner().tenant(), paging)?;
    let (after, max) = (page.after_id(), page.max_read());
    let store = &call.api.store;
    let found = match &call.principal {
        Principal::Tenant(tenant) => store.newest_endpoints(tenant.scope(), after, max).await?,
        Principal::Operator(_) => store.all_endpoints(after, max).await?,
    };
    let (found, next) = page.cut(found, |last| last.id.bytes().to_vec());
    let listed = found.into_iter().map(|one| {
        let scope = match &call.principal {
            Principal::Tenant(tenant) => tenant.scope(),
            Principal::Operator(operator) => operator.scope_of(one.tenant),
        };
        ListedWebhook { scope, id: one.id, name: Some(one.name) }
    });
    Ok((listed.collect(), next))
}

/// Those that exist and that the caller may see.
async fn named(call: &Call, ids: &str) -> Result<Vec<ListedWebhook>, Problem> {
    let ids: Result<Vec<EndpointId>, _> = ids.split(',').map(str::trim).map(str::parse).collect();
    let ids = ids.map_err(|error| Problem::field("", format!("`webhook_ids`: {error}")))?;
    if ids.len() > MAX_NAMED {
        let message = format!("`webhook_ids` has {} ids; the maximum is {MAX_NAMED}", ids.len());
        return Err(Problem::field("", message));
    }
    let store = &call.api.store;
    let mut listed = Vec::new();
    for id in ids {
        let scope = match &call.principal {
            Principal::Tenant(tenant) => tenant.scope(),
            Principal::Operator(operator) => match store.endpoint_owner(id).await? {
                Some(owner) => operator.scope_of(owner),
                None => continue,
            },
        };
        if let Some(endpoint) = store.endpoint(scope, id).await? {
            listed.push(ListedWebhook { scope, id, name: Some(endpoint.name) });
        }
    }
    Ok(listed)
}

/// The worst first. A webhook that was deleted has no name any more.
async fn failing(call: &Call, max: usize) -> Result<Vec<ListedWebhook>, Problem> {
    let store = &call.api.reader;
    let until = call.api.clock.now() + Duration::from_secs(1);
    let found = match &call.principal {
        Principal::Tenant(tenant) => {
            store.failing_targets(tenant.scope(), Lane::Webhook, until, max).await?
        }
        Principal::Operator(_) => store.failing_targets_of_all(Lane::Webhook, until, max).await?,
    };
    let mut listed = Vec::new();
    for one in found {
        let scope = match &call.principal {
            Principal::Tenant(tenant) => tenant.scope(),
            Principal::Operator(operator) => operator.scope_of(one.tenant),
        };
        let endpoint = store.endpoint(scope, one.target).await?;
        listed.push(ListedWebhook { scope, id: one.target, name: endpoint.map(|one| one.name) });
    }
    Ok(listed)
}

type PointsByWebhook = BTreeMap<(TenantId, EndpointId), Vec<StatisticsPoint>>;

/// The points of each webhook, in few reads.
async fn read(
    call: &Call,
    plan: &BinPlan,
    listed: &[ListedWebhook],
) -> Result<PointsByWebhook, Problem> {
    let mut by_tenant: BTreeMap<TenantId, (TenantScope, Vec<_>)> = BTreeMap::new();
    for one in listed {
        let entry = by_tenant.entry(one.scope.tenant());
        entry.or_insert_with(|| (one.scope, Vec::new())).1.push((Some(one.id), Lane::Webhook));
    }
    let mut points: PointsByWebhook = BTreeMap::new();
    for (tenant, (scope, of)) in by_tenant {
        for some in of.chunks(MAX_READ) {
            let read = call.api.reader.tenant_statistics(scope, some.to_vec(), plan.window());
            for point in read.await? {
                if let Some(target) = point.series.target() {
                    points.entry((tenant, target)).or_default().push(point);
                }
            }
        }
    }
    Ok(points)
}
