//! What a node knows about a target, for people who ask why something waits.

use gancho_domain::{DeliveryId, Lane, TenantId, Time};
use gancho_store::TargetId;

use crate::{Engine, lane::Ticket, scheduler::Pool};

/// How a target is doing: what this node has seen, and whether another node has opened its circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Whether a delivery that is leased to this node is in its queue, and not in flight.
    pub fn is_queued(
        &self,
        lane: Lane,
        (tenant, target): (TenantId, TargetId),
        delivery: DeliveryId,
    ) -> bool {
        let is_it = |ticket: &Ticket| ticket.job.delivery == delivery;
        self.lane(lane).is_some_and(|lane| lane.queue.lock().queues((tenant, target), is_it))
    }
}
