//! What a node knows about a target, for people who ask why something waits.

use std::collections::HashSet;

use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::TargetId;

use crate::{Engine, scheduler::Pool};

/// How a target is doing: what this node has seen, and whether another node has opened its circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not the states of one thing")]
pub struct TargetStatus {
    /// Which pool of the lane it draws on: how it answers.
    pub pool: Pool,
    /// Since its last success an attempt failed. Without, one in [`Pool::Troubled`] is merely slow.
    pub has_failed: bool,
    /// Attempts on the wire.
    pub in_flight: u32,
    /// Deliveries in memory that wait for their turn.
    pub queued: usize,
    /// The circuit breaker is open until then; one attempt goes out when it is over.
    pub rests_until: Option<Time>,
    /// One attempt is out to see whether the target answers again.
    pub is_probed: bool,
    /// Its rate allows no attempt before this time.
    pub rate_allows_at: Option<Time>,
    /// As many attempts are on the wire as it allows.
    pub is_at_limit: bool,
    /// Older deliveries of it are in the store.
    pub is_behind: bool,
}

impl Engine {
    /// `None` if no breaker of the target is open, and this node does not work the lane or has not seen the target.
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

    /// The deliveries of a target that are leased to this node and in its queue, not in flight.
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
