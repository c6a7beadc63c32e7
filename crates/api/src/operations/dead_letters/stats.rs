//! `GET /v1/dlq/stats`: counts by code, tenant, partner and lane.

use std::collections::BTreeMap;

use gancho_access::{Principal, Right};
use gancho_domain::{Lane, SourceId, TenantId};
use gancho_store::{DeadFilter, DeadStats};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    filter::{self, DeadLetterFilter, REFUSALS},
};
use crate::{
    answer::Answer,
    input::Request,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route},
};

/// Numbers of dead letters that match the filters.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterStats {
    /// Number of all dead letters that match the filters.
    pub total: u64,
    /// Number of dead letters by failure code, e.g. `HTTP_503`.
    pub by_code: BTreeMap<String, u64>,
    /// Number of dead letters by tenant id, without those of the lane `dispatch`.
    pub by_tenant: BTreeMap<String, u64>,
    /// Number of dead letters of the lane `dispatch`, by name of the partner. Empty for tenants.
    pub by_partner: BTreeMap<String, u64>,
    /// Number of dead letters by lane.
    pub by_lane: BTreeMap<String, u64>,
    /// When the oldest of them became a dead letter; null if there is none.
    pub oldest: Option<Timestamp>,
}

pub const ROUTE: Route = Route {
    path: "/dlq/stats",
    operation_id: "getDeadLetterStats",
    needs: Needs::Anyone(Right::Read),
    query: DeadLetterFilter::FIELDS,
    refuses: REFUSALS,
    gives: Gives::ok::<DeadLetterStats>("The counts."),
    tag: TAG,
    summary: "Count dead letters",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

/// The partner name of a source's tenant, or the source's id if the name is no longer known.
async fn partner(call: &Call, id: TenantId) -> Result<String, Problem> {
    let name = match &call.api.inbound {
        Some(inbound) => inbound.inbound.sources.partner_of(id).await?,
        None => None,
    };
    let unnamed = || SourceId::from_bits(id.bits()).to_string();
    Ok(name.map_or_else(unnamed, |name| name.to_string()))
}

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter::filter(&call, call.parse_query()?).await?;
    let is_asked = filter.lane.is_none_or(|lane| lane == Lane::Dispatch);
    let received = match &call.principal {
        // Only the operator sees receipts. In the store, each source is a tenant.
        Principal::Operator(_) if is_asked => {
            let filter = DeadFilter { lane: Some(Lane::Dispatch), ..filter.clone() };
            call.api.store.dead_stats(filter).await?
        }
        _ => DeadStats::default(),
    };
    let stats = call.api.store.dead_stats(filter).await?;
    let (mut by_tenant, mut by_partner) = (BTreeMap::new(), BTreeMap::new());
    for (id, count) in &stats.by_tenant {
        let received = received.by_tenant.get(id).copied().unwrap_or(0);
        if received > 0 {
            *by_partner.entry(partner(&call, *id).await?).or_default() += received;
        }
        if *count > received {
            by_tenant.insert(id.to_string(), count - received);
        }
    }
    let by_lane = stats.by_lane.into_iter().map(|(lane, count)| (lane.to_string(), count));
    Answer::ok(&DeadLetterStats {
        total: stats.total,
        by_code: stats.by_code,
        by_tenant,
        by_partner,
        by_lane: by_lane.collect(),
        oldest: stats.oldest.map(Timestamp),
    })
}
