//! Limits that hold over all nodes: each node keeps its part of them.

use gancho_domain::{Rate, Time};

use super::{Key, LaneLimits, Pool, Scheduler};
use crate::Terms;

/// What a lane was given, and how many nodes share it.
#[derive(Debug, Clone, Copy)]
pub(super) struct FleetLimits {
    concurrency: u32,
    rate: Option<Rate>,
    pub nodes: u32,
}

impl FleetLimits {
    pub fn of(limits: &LaneLimits) -> Self {
        Self { concurrency: limits.concurrency, rate: limits.rate, nodes: 1 }
    }
}

/// How many of a target's deliveries this node may have in flight.
pub(super) fn own_part(max_in_flight: Option<u32>, nodes: u32) -> u32 {
    max_in_flight.map_or(Terms::MAX_IN_FLIGHT, |max| part_of(max, nodes))
}

/// Nobody gets less than one, or nothing would move.
fn part_of(max: u32, nodes: u32) -> u32 {
    (max / nodes.max(1)).max(1)
}

impl<T> Scheduler<T> {
    /// Those in flight beyond a lower limit finish; none starts before they have.
    pub fn set_limits(&mut self, concurrency: u32, rate: Option<Rate>, tenant_batch: u32) {
        self.whole = FleetLimits { concurrency, rate, ..self.whole };
        self.limits.tenant_batch = tenant_batch;
        self.take_part();
    }

    /// `nodes`, this one included, share the limits of targets, and those of the lane if they are hard. Returns
    /// whether that changes anything.
    pub fn share_limits(&mut self, nodes: u32, now: Time) -> bool {
        if nodes == self.whole.nodes {
            return false;
        }
        self.whole.nodes = nodes;
        self.take_part();
        self.targets.values_mut().for_each(|line| line.share_limits(nodes));
        // Nodes come and go seldom, so this checks every known target.
        let known: Vec<Key> = self.targets.keys().copied().collect();
        for key in known {
            self.place(key, now);
        }
        true
    }

    fn take_part(&mut self) {
        let FleetLimits { concurrency, rate, nodes } = self.whole;
        // Those that are not hard spare this node, and nobody else.
        let nodes = if self.limits.policy.is_hard() { nodes } else { 1 };
        self.limits.concurrency = part_of(concurrency, nodes);
        self.limits.rate = rate.map(|rate| rate.shared_by(nodes));
        for pool in Pool::ALL {
            self.pools[pool].limit = self.limits.of_pool(pool);
        }
    }
}
