//! One tenant's place in the round, and its statistics.

use std::time::Duration;

use gancho_domain::{TenantId, fairness};
use gancho_store::TargetId;

use super::{
    pool::{Holding, Pool},
    removable_queue::RemovableQueue,
    turns::{TurnPlace, Turns, UsedTime},
};

#[derive(Default)]
pub struct TenantLine {
    pools: [TenantPool; Pool::COUNT],
    pub queued: usize,
    /// Its prompt targets hold far more than their part.
    pub is_over: bool,
    pub processed: u64,
    /// Its targets that have nothing to do, in the order in which they came to that.
    pub idle: RemovableQueue<TargetId>,
}

/// The tenant's part in one pool.
#[derive(Default)]
pub struct TenantPool {
    /// Its targets that may be sent something now, in turn.
    pub ready: Turns<TargetId>,
    /// Its place among the tenants that have such a target.
    pub turn: Option<TurnPlace>,
    /// What it has had of the pool up to its last turn.
    pub had: UsedTime,
    pub in_flight: u32,
    /// What its targets hold, queued or in flight.
    pub held: Holding,
    /// Its targets that hold something.
    pub busy: usize,
    /// Deliveries taken in a row, and what they cost.
    pub consecutive: u32,
    pub cost: Duration,
    /// The round in which it began to wait for its turn.
    pub waits_since: u64,
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

impl TenantPool {
    /// Ends its turn, and returns the place it had in line.
    pub fn end_turn(&mut self) -> Option<TurnPlace> {
        let place = self.turn.take()?;
        self.had = place.after(self.cost);
        self.cost = Duration::ZERO;
        self.consecutive = 0;
        Some(place)
    }
}

impl TenantLine {
    pub fn of(&self, pool: Pool) -> &TenantPool {
        &self.pools[pool.index()]
    }

    pub fn of_mut(&mut self, pool: Pool) -> &mut TenantPool {
        &mut self.pools[pool.index()]
    }

    pub fn share(&self, tenant: TenantId, rounds: u64) -> Share {
        let waited = |pool: &TenantPool| match pool.turn {
            Some(_) if pool.consecutive == 0 => rounds.saturating_sub(pool.waits_since),
            _ => 0,
        };
        let rounds_waited = self.pools.iter().map(waited).max().unwrap_or(0);
        Share {
            tenant,
            queued: self.queued,
            in_flight: self.pools.iter().map(|pool| pool.in_flight).sum(),
            processed: self.processed,
            consecutive: self.pools.iter().map(|pool| pool.consecutive).max().unwrap_or(0),
            rounds_waited,
            priority: fairness::priority(rounds_waited),
        }
    }
}
