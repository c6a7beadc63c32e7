//! Releases deliveries that this node will not carry. They keep their seats until the store has them, or they are set
//! aside.

use std::{collections::BTreeMap, sync::Arc};

use gancho_store::{Lease, NodeId};

use crate::{
    Engine,
    lane::{LaneState, Ticket},
    recovery::{Backoff, Recovery},
};

impl Engine {
    pub(crate) fn give_back(self: &Arc<Self>, lane: &LaneState, tickets: Vec<Ticket>) {
        if tickets.is_empty() {
            return;
        }
        lane.counters.released.add(tickets.len());
        let engine = self.clone();
        self.spawn(async move { engine.release(tickets).await });
    }

    pub(crate) async fn release(self: &Arc<Self>, tickets: Vec<Ticket>) {
        let mut by_node: BTreeMap<NodeId, Vec<Lease>> = BTreeMap::new();
        for ticket in &tickets {
            by_node.entry(ticket.node).or_default().push(ticket.lease());
        }
        self.write_last(&tickets, self.release_leases(by_node)).await;
        drop(tickets);
    }

    async fn release_leases(self: &Arc<Self>, by_node: BTreeMap<NodeId, Vec<Lease>>) {
        for (node, leases) in by_node {
            let mut backoff = Backoff::new();
            while let Err(error) = self.store.release(node, leases.clone()).await {
                if error.is_permanent() {
                    tracing::error!(%error, count = leases.len(), "could not release deliveries; they stay leased until this node stops");
                    break;
                }
                match self.recovery_for("release", node, &error) {
                    Recovery::Retry => backoff.wait().await,
                    Recovery::Fenced => break,
                    Recovery::Stop => return,
                }
            }
        }
    }
}
