//! `GET /v1/nodes`: the processes that work on this store, from their heartbeats.

use std::time::Duration;

use gancho_domain::Time;
use gancho_store::{NodeRecord, SharedSettings};
use serde::Serialize;
use utoipa::ToSchema;

use super::TAG;
use crate::{
    answer::Answer,
    problem::Problem,
    render::{List, Timestamp, words},
    route::{Call, Gives, Needs, Route},
};

const MAX_NODES: usize = 500;
/// A living node beats every few seconds.
const SILENT_AFTER: Duration = Duration::from_secs(20);

/// A node: one process of the gateway.
#[derive(Debug, Serialize, ToSchema)]
pub struct Node {
    /// Number of the node. A restarted process is another node.
    pub id: i64,
    /// Name of the node.
    pub name: String,
    /// `alive`, `silent` (no heartbeat for 20 seconds) or `dead` (its deliveries were taken over).
    #[schema(value_type = words::NodeState)]
    pub state: &'static str,
    /// Whether this node answered the request.
    pub is_self: bool,
    /// What the node does; empty for a node of an earlier version.
    #[schema(value_type = Vec<words::NodeRole>)]
    pub roles: Vec<String>,
    /// Version of the gateway that the node runs; null for an earlier version that does not report it.
    pub version: Option<String>,
    /// When the node joined the gateway.
    pub joined_at: Timestamp,
    /// When the node sent its last heartbeat.
    pub last_seen_at: Timestamp,
    /// Number of deliveries that the node holds: in flight, or about to be.
    pub held_deliveries: u64,
    /// When the first of these deliveries became due; null if the node holds none.
    pub oldest_due_at: Option<Timestamp>,
    /// Number of these deliveries in each cell; empty for a gateway without cells.
    pub cells: Vec<NodeCell>,
    /// Names of settings that must be the same on all nodes, and that this node sets differently from the node that
    /// answered.
    pub differing_settings: Vec<String>,
}

/// Deliveries of one cell that a node holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeCell {
    /// Name of the cell.
    pub name: String,
    /// Number of deliveries of this cell that the node holds.
    pub held_deliveries: u64,
}

impl Node {
    fn of(record: NodeRecord, own: i64, alike: &SharedSettings, now: Time) -> Self {
        let differing = alike.differing(&record.facts.shared_settings);
        let is_silent = now.since(record.seen_at) > SILENT_AFTER;
        let roles = record.facts.roles.split(',').filter(|role| !role.is_empty());
        Self {
            id: record.id.0,
            name: record.name,
            state: match (record.is_dead, is_silent) {
                (true, _) => "dead",
                (false, true) => "silent",
                (false, false) => "alive",
            },
            is_self: record.id.0 == own,
            roles: roles.map(str::to_owned).collect(),
            version: Some(record.facts.version).filter(|version| !version.is_empty()),
            joined_at: Timestamp(record.joined_at),
            last_seen_at: Timestamp(record.seen_at),
            held_deliveries: record.leases,
            oldest_due_at: record.oldest_due_at.map(Timestamp),
            cells: record
                .cells
                .into_iter()
                .map(|(name, held_deliveries)| NodeCell { name, held_deliveries })
                .collect(),
            differing_settings: differing.into_iter().map(str::to_owned).collect(),
        }
    }
}

pub const ROUTE: Route = Route {
    path: "/nodes",
    operation_id: "listNodes",
    needs: Needs::Operator,
    gives: Gives::ok::<List<Node>>("The nodes, living ones first, newest first."),
    tag: TAG,
    summary: "List nodes",
    about: "Lists the processes that share this store, from their heartbeats. A node that shut down cleanly is not listed. At most 500 nodes are listed.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let nodes = call.api.store.nodes(MAX_NODES).await?;
    let (own, now) = (call.api.engine.node().0, call.api.clock.now());
    let mine = nodes.iter().find(|node| node.id.0 == own);
    let alike = mine.map(|node| node.facts.shared_settings.clone()).unwrap_or_default();
    let data = nodes.into_iter().map(|node| Node::of(node, own, &alike, now)).collect();
    Answer::ok(&List::<Node> { data, next_cursor: None })
}
