//! The short way in: what a publisher has accepted goes straight to the queue, without a claim.
//!
//! The publisher asks for room first, has the deliveries leased to this node in the transaction that
//! accepts them, and then offers them. Without room they are accepted all the same, and claimed
//! later.
//!
//! **Invariant.** What is leased to this node is in its hands: a publisher that was cut short between
//! accepting and offering would leave deliveries that nobody carries while the node lives. So those
//! two steps run inside [`Engine::see_through`].

use std::sync::Arc;

use gancho_domain::{Lane, RetryPlan, TenantId};
use gancho_store::{Job, NodeId, TargetId};

use crate::{
    Engine,
    carrier::Terms,
    lane::{LaneState, Ticket},
    room::{Seats, Size},
    scheduler::Incoming,
};

/// Room in the queue. Dropped, it is free again.
pub struct Reservation {
    lane: Lane,
    node: NodeId,
    seats: Seats,
}

impl Reservation {
    /// To whom the deliveries are to be leased.
    pub fn node(&self) -> NodeId {
        self.node
    }
}

impl Engine {
    /// Whether a new delivery to this target may be held and offered. If not, it has to wait in the
    /// store: its target is paused, rests, has enough, or has older ones there that come first.
    pub fn welcomes(&self, lane: Lane, tenant: TenantId, target: TargetId) -> bool {
        self.lane(lane).is_some_and(|lane| lane.queue.lock().welcomes((tenant, target)))
    }

    /// Room for one delivery to each of these targets, with so many bytes of bodies in all; nothing if
    /// there is none, or the engine is stopping, or cannot rely on its lease.
    pub fn reserve(
        &self,
        lane: Lane,
        targets: &[(TenantId, TargetId)],
        bytes: usize,
    ) -> Option<Reservation> {
        if self.stopping.is_cancelled() {
            return None;
        }
        let state = self.lane(lane)?;
        let node = self.membership.current()?;
        let seats = self.room.take(lane, Size { jobs: targets.len(), bytes });
        if seats.is_none() {
            state.queue.lock().refused(targets.iter().copied());
        }
        Some(Reservation { lane, node, seats: seats? })
    }

    /// Queues deliveries that were accepted as leased to [`Reservation::node`].
    pub fn offer(self: &Arc<Self>, reservation: Reservation, jobs: Vec<Job>) {
        let Some(lane) = self.lane(reservation.lane).cloned() else {
            return;
        };
        lane.counters.offered.add(jobs.len());
        self.enqueue(&lane, reservation.node, jobs, reservation.seats);
        self.dispatch(&lane);
    }

    /// What is leased to a node that this engine no longer is, is dropped: its lease returns it.
    pub(crate) fn enqueue(&self, lane: &LaneState, node: NodeId, jobs: Vec<Job>, mut seats: Seats) {
        if self.stopping.is_cancelled() || self.membership.last() != node {
            return;
        }
        let tickets: Vec<(Terms, Ticket)> = jobs
            .into_iter()
            .map(|job| {
                let terms = terms(lane, &job);
                let seat = seats.one(job.parcel.body.len());
                let plan = terms.plan.clone();
                (terms, Ticket::new(job, plan, node, seat))
            })
            .collect();
        let now = self.clock.now();
        let mut queue = lane.queue.lock();
        for (terms, ticket) in tickets {
            let key = (ticket.job.tenant, ticket.job.target);
            let new = Incoming {
                key,
                most_in_flight: terms.max_in_flight,
                rate: terms.rate,
                bytes: ticket.job.parcel.body.len(),
                item: ticket,
            };
            queue.push(new, now);
        }
    }
}

/// A carrier that panics here is asked to carry all the same: the attempt will tell.
fn terms(lane: &LaneState, job: &Job) -> Terms {
    let ask = std::panic::AssertUnwindSafe(|| lane.carrier.terms(job));
    std::panic::catch_unwind(ask).unwrap_or_else(|_| {
        lane.counters.panics.add(1);
        Terms::of(Arc::new(RetryPlan::DISPATCH))
    })
}
