//! `GET /v1/dlq/stats`: how many, by code, by tenant and by lane.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    filter::{self, FIELDS},
};
use crate::{
    answer::Answer,
    auth::Right,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::Stamp,
};

#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterStats {
    pub total: u64,
    pub by_code: BTreeMap<String, u64>,
    pub by_tenant: BTreeMap<String, u64>,
    pub by_lane: BTreeMap<String, u64>,
    /// When the oldest was given up.
    pub oldest: Option<Stamp>,
}

pub const ROUTE: Route = Route {
    path: "/dlq/stats",
    needs: Needs::Anyone(Right::Read),
    query: FIELDS,
    gives: Gives::ok::<DeadLetterStats>("The counts."),
    tag: TAG,
    summary: "Count dead letters",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter::filter(&call, &call.query).await?;
    let stats = call.api.store.dead_stats(filter).await?;
    let by_tenant = stats.by_tenant.into_iter().map(|(id, count)| (id.to_string(), count));
    let by_lane = stats.by_lane.into_iter().map(|(lane, count)| (lane.to_string(), count));
    Answer::ok(&DeadLetterStats {
        total: stats.total,
        by_code: stats.by_code,
        by_tenant: by_tenant.collect(),
        by_lane: by_lane.collect(),
        oldest: stats.oldest.map(Stamp),
    })
}
