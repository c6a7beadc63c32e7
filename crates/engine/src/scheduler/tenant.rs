//! One tenant's place in the round, and what can be told of it.

use gancho_domain::{TenantId, fairness};
use gancho_store::TargetId;

use super::ring::{Place, Ring};

#[derive(Default)]
pub struct TenantLine {
    /// Its targets that may be sent something now, in turn.
    pub ready: Ring<TargetId>,
    /// Its place among the tenants that have such a target.
    pub turn: Option<Place>,
    pub queued: usize,
    pub in_flight: u32,
    /// Of what is queued and what is in flight.
    pub bytes: usize,
    pub skipped: bool,
    /// Deliveries taken in a row.
    pub consecutive: u32,
    /// The round in which it began to wait for its turn.
    pub waits_since: u64,
    pub processed: u64,
    /// Targets of its that are remembered. Without any it is forgotten.
    pub targets: usize,
}

/// What the metrics say of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub tenant: TenantId,
    pub queued: usize,
    pub in_flight: u32,
    pub processed: u64,
    pub consecutive: u32,
    /// Turns that others had while it waited for its own.
    pub rounds_waited: u64,
    /// 5 for one just served, down to 1 for the most urgent.
    pub priority: u8,
}

impl TenantLine {
    pub fn share(&self, tenant: TenantId, rounds: u64) -> Share {
        let rounds_waited = match self.turn {
            Some(_) if self.consecutive == 0 => rounds.saturating_sub(self.waits_since),
            _ => 0,
        };
        Share {
            tenant,
            queued: self.queued,
            in_flight: self.in_flight,
            processed: self.processed,
            consecutive: self.consecutive,
            rounds_waited,
            priority: fairness::priority(rounds_waited),
        }
    }
}
