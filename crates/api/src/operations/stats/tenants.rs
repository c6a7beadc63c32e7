//! `GET /v1/stats/tenants`: what each tenant sent in a range, to compare them.

use gancho_domain::Lane;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    bins::{BinPlan, Length, RangeQuery},
    view::{DeliveryFigures, totals},
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
    struct TenantStatsQuery {
        flatten page: Paging,
        /// How far back, up to now. Default: `24h`.
        optional range: Length as choice(&["15m", "1h", "6h", "24h", "7d", "30d"]),
    }
}

/// Figures of one tenant.
#[derive(Debug, Serialize, ToSchema)]
pub struct TenantStats {
    /// Id of the tenant.
    pub tenant_id: String,
    /// Slug of the tenant.
    pub slug: String,
    /// Display name of the tenant.
    pub name: String,
    /// Figures of the range, in all lanes.
    pub totals: DeliveryFigures,
}

pub const ROUTE: Route = Route {
    path: "/stats/tenants",
    operation_id: "listTenantStats",
    needs: Needs::Operator,
    query: TenantStatsQuery::FIELDS,
    gives: Gives::ok::<List<TenantStats>>("A page of tenants with their figures, by slug."),
    tag: TAG,
    summary: "List statistics of tenants",
    about: "A page has at most 100 tenants. Figures are a few seconds late.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

/// Maximum tenants of a page: each is one read of its statistics.
const MAX_TENANTS: u64 = 100;

async fn run(call: Call) -> Result<Answer, Problem> {
    let mut query: TenantStatsQuery = call.parse_query()?;
    let operator = call.operator()?;
    query.page.limit = Some(query.page.limit.unwrap_or(DEFAULT_ROWS).min(MAX_TENANTS));
    let range = RangeQuery { range: query.range, step: None };
    let plan = BinPlan::new(&range, false, call.api.clock.now())?;
    let page = Page::of(&call, None, &query.page)?;
    let rows = call.api.store.tenants_to_show(page.after_name(), page.max_read()).await?;
    let (rows, next_cursor) = page.cut(rows, |last| last.slug.as_str().into());
    let mut data = Vec::with_capacity(rows.len());
    for tenant in rows {
        let of = Lane::ALL.into_iter().map(|lane| (None, lane)).collect();
        let scope = operator.scope_of(tenant.id);
        let points = call.api.reader.tenant_statistics(scope, of, plan.window()).await?;
        data.push(TenantStats {
            tenant_id: tenant.id.to_string(),
            slug: tenant.slug.clone(),
            name: tenant.name.clone(),
            totals: totals(&plan.fill(&points)),
        });
    }
    Answer::ok(&List { data, next_cursor })
}
