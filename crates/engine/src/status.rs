//! What a node knows about a target, to explain why a delivery waits.

use std::collections::HashSet;

use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::TargetId;

use crate::{Engine, scheduler::Pool};

/// How a target is doing: what this node has seen, and whether another node has opened its circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not the states of one thing")]
pub struct TargetStatus {
    /// The pool of the lane that it uses, which follows from its responses.
    pub pool: Pool,
    /// Whether an attempt failed since its last success. If not, a target in [`Pool::Troubled`] is merely
    /// slow.
    pub has_failed: bool,
    /// Attempts in flight.
    pub in_flight: u32,
    /// Deliveries in memory that wait for their turn.
    pub queued: usize,
    /// The circuit breaker is open until then; after that, one attempt is sent as a probe.
    pub rests_until: Option<Time>,
    /// Whether the probe is in flight.
    pub is_probed: bool,
    /// The rate limit of the target or of its lane allows no attempt before this time.
    pub rate_allows_at: Option<Time>,
    /// Whether the maximum number of attempts is in flight.
    pub is_at_limit: bool,
    /// Whether older deliveries to it are in the store.
    pub is_behind: bool,
}

impl Engine {
    /// Returns the status of a target. `None` if no breaker of the target is open, and this node does not
    /// serve the lane or has not seen the target.
    pub fn target_status(
        &self,
        lane: Lane,
        tenant: TenantId,
        target: TargetId,
    ) -> Option<TargetStatus> {
        let now = self.clock.now();
        let lane_state = self.lane(lane);
        let seen = lane_state.and_then(|lane| lane.queue.lock().status((tenant, target), now));
        self.fleet_status(seen, (lane, tenant, target))
    }

    /// Returns the deliveries of a target that are leased to this node and in its queue, but not in flight.
    pub fn queued_deliveries(
        &self,
        lane: Lane,
        target: (TenantId, TargetId),
    ) -> HashSet<DeliveryId> {
        let Some(lane) = self.lane(lane) else { return HashSet::new() };
        let queue = lane.queue.lock();
        queue.waiting(target).map(|ticket| ticket.job.delivery).collect()
    }
}
