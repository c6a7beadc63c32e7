//! What each pool of a lane holds, and who takes turns in it.

use std::{
    collections::BTreeSet,
    ops::{Index, IndexMut},
};

use gancho_domain::TenantId;

use super::{
    pool::{Holding, Pool, PoolLimit},
    tenant::TenantPool,
    turns::Turns,
};
use crate::room::Size;

pub struct PoolState {
    pub limit: PoolLimit,
    /// Tenants that have something that may go now.
    pub turns: Turns<TenantId>,
    pub in_flight: u32,
    pub held: Holding,
    /// Tenants that hold something of it.
    pub holders: BTreeSet<TenantId>,
    /// How full it was when all of those were last judged.
    pub fill: usize,
    /// Targets with something to do that draw on it.
    pub busy: usize,
}

impl PoolState {
    /// What a tenant may hold of it, given what it and the others hold.
    pub fn limit_of(&self, mine: &TenantPool, pool: Pool) -> PoolLimit {
        let others = Size {
            jobs: self.held.jobs.saturating_sub(mine.held.jobs),
            bytes: self.held.bytes.saturating_sub(mine.held.bytes),
        };
        self.limit.of_one_tenant(pool, others, self.holders.len())
    }

    /// An equal part for each tenant that holds something of it.
    pub fn jobs_each(&self) -> usize {
        self.limit.jobs_each(self.holders.len())
    }
}

pub struct Pools([PoolState; Pool::COUNT]);

impl Pools {
    pub fn new(limit: impl Fn(Pool) -> PoolLimit) -> Self {
        Self(Pool::ALL.map(|pool| PoolState {
            limit: limit(pool),
            turns: Turns::default(),
            in_flight: 0,
            held: Holding::default(),
            holders: BTreeSet::new(),
            fill: 0,
            busy: 0,
        }))
    }

    /// What is free of the room for targets that nobody has tried.
    pub fn untried_room(&self) -> Size {
        let PoolState { limit, held, .. } = &self[Pool::Untried];
        Size {
            jobs: limit.jobs.saturating_sub(held.jobs),
            bytes: limit.bytes.saturating_sub(held.bytes),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &PoolState> {
        self.0.iter()
    }
}

impl Index<Pool> for Pools {
    type Output = PoolState;

    fn index(&self, pool: Pool) -> &PoolState {
        &self.0[pool.index()]
    }
}

impl IndexMut<Pool> for Pools {
    fn index_mut(&mut self, pool: Pool) -> &mut PoolState {
        &mut self.0[pool.index()]
    }
}
