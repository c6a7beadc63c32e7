//! `GET /v1/queues`: the backlog and age of each lane, and what is paused.

use gancho_domain::Lane;
use gancho_store::Pause;
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    problem::Problem,
    render::{Timestamp, words},
    route::{Call, Gives, Needs, Route},
};

/// The backlog of each lane, and what is paused.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queues {
    /// One queue per lane.
    pub data: Vec<Queue>,
    /// Ids of the tenants that are paused.
    pub paused_tenants: Vec<String>,
    /// Ids of the webhooks that are paused.
    pub paused_webhooks: Vec<String>,
    /// Always null: the list has one page.
    pub next_cursor: Option<String>,
}

/// The backlog of one lane.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queue {
    /// Lane of the deliveries.
    #[schema(value_type = words::Lane)]
    pub lane: &'static str,
    /// Number of deliveries that have not ended: the sum of `pending`, `in_flight` and `waiting`.
    pub depth: u64,
    /// Number of deliveries that no node holds, due now or later.
    pub pending: u64,
    /// Number of deliveries that a node holds: in flight, or about to be.
    pub in_flight: u64,
    /// Number of deliveries that wait for an earlier one of their subject.
    pub waiting: u64,
    /// How long the oldest pending delivery has been due, in seconds; 0 if none is due.
    pub age_seconds: f64,
    /// When the oldest pending delivery became due or, if none is due yet, when the first one will be; null if none is
    /// pending.
    pub oldest_due_at: Option<Timestamp>,
    /// Whether the lane is paused.
    pub is_paused: bool,
}

pub const ROUTE: Route = Route {
    path: "/queues",
    operation_id: "listQueues",
    needs: Needs::Operator,
    gives: Gives::ok::<Queues>("One queue per lane."),
    tag: TAG,
    summary: "List queues",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let depths = call.api.store.depths().await?;
    let pauses = call.api.store.pauses().await?;
    let now = call.api.clock.now();
    let queues = Lane::ALL.map(|lane| {
        let depth = depths.iter().find(|depth| depth.lane == lane);
        let [pending, in_flight, waiting] =
            depth.map_or([0; 3], |depth| [depth.pending, depth.leased, depth.waiting]);
        let oldest = depth.and_then(|depth| depth.oldest_due);
        Queue {
            lane: lane.name(),
            depth: pending + in_flight + waiting,
            pending,
            in_flight,
            waiting,
            age_seconds: oldest.map_or(0.0, |due| now.since(due).as_secs_f64()),
            oldest_due_at: oldest.map(Timestamp),
            is_paused: pauses.contains(&Pause::Lane(lane)),
        }
    });
    Answer::ok(&Queues {
        data: queues.into(),
        paused_tenants: pauses.iter().filter_map(tenant).collect(),
        paused_webhooks: pauses.iter().filter_map(endpoint).collect(),
        next_cursor: None,
    })
}

fn tenant(pause: &Pause) -> Option<String> {
    match pause {
        Pause::Tenant(tenant) => Some(tenant.to_string()),
        _ => None,
    }
}

fn endpoint(pause: &Pause) -> Option<String> {
    match pause {
        Pause::Endpoint(_, endpoint) => Some(endpoint.to_string()),
        _ => None,
    }
}
