//! `GET /v1/usage`: the plan of the tenant, and what it has used of it.

use gancho_access::Right;
use gancho_outbound::plans;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route},
};

/// The plan of a tenant, and what it has used of it.
#[derive(Serialize, ToSchema)]
pub struct PlanUsage {
    /// Name of the plan, e.g. `unlimited`.
    pub plan: String,
    pub events: EventUsage,
    pub endpoints: EndpointUsage,
}

/// Events of the current month, and the limit of the plan.
#[derive(Serialize, ToSchema)]
pub struct EventUsage {
    /// Number of events accepted this month; null if the plan has no limit, because they are then not counted.
    pub used: Option<u64>,
    /// Maximum number of events per calendar month (UTC); null if the plan has no limit.
    pub limit: Option<u64>,
    /// When the next month starts (UTC).
    pub resets_at: Timestamp,
}

/// Webhooks of the tenant, and the limit of the plan.
#[derive(Serialize, ToSchema)]
pub struct EndpointUsage {
    /// Number of webhooks that the tenant has.
    pub used: u64,
    /// Maximum number of webhooks; null if the plan has no limit.
    pub limit: Option<u32>,
}

pub const ROUTE: Route = Route {
    path: "/usage",
    operation_id: "getUsage",
    needs: Needs::Tenant(Right::Read),
    gives: Gives::ok::<PlanUsage>("The plan and its usage."),
    tag: "Tenants",
    summary: "Get the usage of the plan",
    about: "The plan of the tenant, its limits, and what was used of them this month.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let caller = call.tenant()?;
    let (scope, now) = (caller.scope(), call.api.clock.now());
    let plan = call.api.plans.of(caller.tenant());
    let used = match plan.events {
        Some(_) => Some(call.api.store.used(scope, &plans::period(now)).await?),
        None => None,
    };
    let resets_at = Timestamp(plans::resets_at(now));
    let endpoints = call.api.store.endpoints(scope).await?.len() as u64;
    Answer::ok(&PlanUsage {
        plan: caller.tenant().plan.clone(),
        events: EventUsage { used, limit: plan.events, resets_at },
        endpoints: EndpointUsage { used: endpoints, limit: plan.endpoints },
    })
}
