//! `GET /v1/webhooks/{id}/stats`.

use gancho_access::Right;
use gancho_domain::{EndpointId, Lane};

use super::{
    TAG,
    bins::{BinPlan, RangeQuery},
    view::Stats,
};
use crate::{
    answer::Answer,
    input::{Request, field::ResourceKind},
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/webhooks/{id}/stats",
    operation_id: "getWebhookStats",
    needs: Needs::Tenant(Right::Read),
    query: RangeQuery::FIELDS,
    gives: Gives::ok::<Stats>("The figures of the range, and of each bin in it."),
    tag: TAG,
    summary: "Get a webhook's statistics",
    about: "Figures are a few seconds late. Statistics are kept as long as deliveries.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, id): (_, EndpointId) = (call.tenant()?.scope(), call.id("id")?);
    let found = call.api.store.endpoint(scope, id).await?;
    found.ok_or_else(|| Problem::not_found(ResourceKind::Webhook))?;
    let plan = BinPlan::new(&call.parse_query()?, true, call.api.clock.now())?;
    let of = vec![(Some(id), Lane::Webhook)];
    let points = call.api.reader.tenant_statistics(scope, of, plan.window()).await?;
    Answer::ok(&Stats::of(&plan, &plan.fill(&points)))
}
