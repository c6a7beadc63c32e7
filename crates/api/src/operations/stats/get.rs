//! `GET /v1/stats`: of the whole gateway, a tenant, or one of its webhooks.

use gancho_access::{Principal, Right};
use gancho_domain::{EndpointId, Lane, id::IdParseError};

use super::{
    TAG,
    bins::{BinPlan, RangeQuery},
    view::Stats,
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct StatsQuery {
        flatten range: RangeQuery,
        /// Only deliveries in this lane. Default: all lanes.
        optional lane: Lane as lane(),
        /// Only deliveries to this webhook.
        optional webhook_id: String as id(ResourceKind::Webhook),
    }
}

pub const ROUTE: Route = Route {
    path: "/stats",
    operation_id: "getStats",
    needs: Needs::Anyone(Right::Read),
    query: StatsQuery::FIELDS,
    refuses: &[&codes::TENANT_REQUIRED, &codes::NOT_FOUND],
    gives: Gives::ok::<Stats>("The figures of the range, and of each bin in it."),
    tag: TAG,
    summary: "Get statistics",
    about: "The operator gets the figures of the whole gateway, or of one tenant with `X-Tenant`. Figures are a few seconds late. Statistics are kept as long as deliveries.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: StatsQuery = call.parse_query()?;
    let webhook: Option<EndpointId> =
        query.webhook_id.as_deref().map(str::parse).transpose().map_err(
            |error: IdParseError| Problem::field("", format!("`webhook_id` is {error}")),
        )?;
    let plan = BinPlan::new(&query.range, webhook.is_some(), call.api.clock.now())?;
    let lanes = query.lane.map_or(Lane::ALL.to_vec(), |lane| vec![lane]);
    let points = match &call.principal {
        Principal::Operator(_) if webhook.is_none() => {
            call.api.reader.gateway_statistics(lanes, plan.window()).await?
        }
        _ => {
            let scope = call.tenant()?.scope();
            if let Some(webhook) = webhook {
                let found = call.api.store.endpoint(scope, webhook).await?;
                found.ok_or_else(|| Problem::not_found(ResourceKind::Webhook))?;
            }
            let of = lanes.into_iter().map(|lane| (webhook, lane)).collect();
            call.api.reader.tenant_statistics(scope, of, plan.window()).await?
        }
    };
    Answer::ok(&Stats::of(&plan, &plan.fill(&points)))
}
