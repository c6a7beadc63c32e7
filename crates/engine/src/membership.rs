//! This engine's membership: its node number, and whether that number is still valid.
//!
//! **Invariant.** An attempt begins only while the last heartbeat is younger than the lease, less a margin.
//! So a node that was frozen or cut off from the store does not carry what another node may have taken over.

use std::time::Duration;

use gancho_store::{LeaseStatus, NodeId, Store};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::lane::Ticket;

pub(crate) struct Membership {
    term: Mutex<MembershipState>,
    trusted: Duration,
    /// Rung when the node is fenced.
    pub lost: Notify,
}

#[derive(Clone, Copy)]
struct MembershipState {
    node: NodeId,
    beaten_at: Instant,
    is_member: bool,
}

impl Membership {
    /// Starts a membership. `beaten_at` is from before the call that joined, because the lease cannot be
    /// younger than that.
    pub fn new(node: NodeId, beaten_at: Instant, trusted: Duration) -> Self {
        Self {
            term: Mutex::new(MembershipState { node, beaten_at, is_member: true }),
            trusted,
            lost: Notify::new(),
        }
    }

    /// Returns the number that was assigned last, valid or not.
    pub fn last(&self) -> NodeId {
        self.term.lock().node
    }

    /// Returns the number under which deliveries may be claimed and tried now, if it is valid.
    pub fn current(&self) -> Option<NodeId> {
        let term = *self.term.lock();
        let fresh = term.beaten_at.elapsed() < self.trusted;
        (term.is_member && fresh).then_some(term.node)
    }

    pub fn is_member(&self) -> bool {
        self.term.lock().is_member
    }

    /// Whether this engine still is that node, as far as it can tell.
    pub fn is(&self, node: NodeId) -> bool {
        let term = *self.term.lock();
        term.is_member && term.node == node
    }

    /// Whether the database that holds a delivery may have given it to another node.
    pub fn lease_status(&self, store: &dyn Store, ticket: &Ticket) -> LeaseStatus {
        store.lease_status(ticket.node, ticket.job.tenant, ticket.leased_at(), self.trusted)
    }

    pub fn beaten(&self, node: NodeId, at: Instant) {
        let mut term = self.term.lock();
        if term.node == node {
            term.beaten_at = at;
        }
    }

    pub fn joined(&self, node: NodeId, at: Instant) {
        *self.term.lock() = MembershipState { node, beaten_at: at, is_member: true };
    }

    /// Notes that the node was fenced. Returns whether this is news.
    pub fn fenced(&self, node: NodeId) -> bool {
        let mut term = self.term.lock();
        let news = term.is_member && term.node == node;
        if news {
            term.is_member = false;
            self.lost.notify_one();
        }
        news
    }
}
