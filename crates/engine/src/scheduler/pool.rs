//! The pools of a lane: how its slots and its seats are divided, so that targets that wait cannot take
//! what targets that answer need.
//!
//! An attempt that waits for an answer costs a socket and a little memory, not a share of the machine.
//! So the slots of a lane are for attempts that have only just begun: one that is still out after
//! [`PROMPT`] moves on to a pool of its own kind. Each pool is bounded, a part of it is left for other
//! tenants, and no pool but the first can fill the room in memory.

use std::time::Duration;

/// An answer that takes longer is not prompt.
pub const PROMPT: Duration = Duration::from_millis(100);

/// A target draws on one pool at a time, by what its answers said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pool {
    /// Its deliveries succeed, within [`PROMPT`].
    Prompt,
    /// It has not answered yet, and need not have.
    Untried,
    /// Its deliveries succeed, but take longer, or its rate is limited.
    Slow,
    /// It fails, does not answer, or is slower than [`gancho_domain::pace::SLOW`].
    Troubled,
}

impl Pool {
    pub const COUNT: usize = 4;

    /// Where pools compete for the lane's rate, each is first in some of the turns.
    const TURNS: [Self; 8] = [
        Self::Prompt,
        Self::Untried,
        Self::Slow,
        Self::Prompt,
        Self::Untried,
        Self::Slow,
        Self::Prompt,
        Self::Troubled,
    ];

    pub fn index(self) -> usize {
        self as usize
    }

    /// The order in which pools are served at the given turn.
    pub fn order(turn: usize) -> [Self; Self::COUNT + 1] {
        let first = Self::TURNS[turn % Self::TURNS.len()];
        [first, Self::Prompt, Self::Untried, Self::Slow, Self::Troubled]
    }
}

/// What a pool may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimit {
    /// Attempts on the wire. Those that moved here from another pool may go beyond.
    pub in_flight: u32,
    /// Deliveries in memory, waiting or on the wire.
    pub jobs: usize,
    pub bytes: usize,
}

impl PoolLimit {
    /// All pools of a lane together have at most so many attempts on the wire for each slot.
    pub const OUT_PER_SLOT: u32 = 4;

    /// `concurrency` is for attempts that have only just begun; `jobs` and `bytes` are the lane's part of
    /// the room.
    pub fn of(pool: Pool, concurrency: u32, jobs: usize, bytes: usize) -> Self {
        let (in_flight, part) = match pool {
            Pool::Prompt => (concurrency - concurrency / 8, 1),
            Pool::Untried => (concurrency.div_ceil(2), 8),
            Pool::Slow => (concurrency.saturating_mul(2), 2),
            Pool::Troubled => (concurrency, 8),
        };
        let (jobs, bytes) = (jobs.div_ceil(part), bytes.div_ceil(part));
        // Some of what is in memory waits for its turn.
        let max_out = (jobs - jobs / 4) as u32;
        Self { in_flight: in_flight.min(max_out), jobs, bytes }
    }

    fn part(self, of: usize) -> Self {
        Self { jobs: self.jobs.div_ceil(of), bytes: self.bytes.div_ceil(of), ..self }
    }

    /// What one tenant may hold of it.
    pub fn of_one_tenant(self, pool: Pool) -> Self {
        self.part(if pool == Pool::Prompt { 4 } else { 2 })
    }
}

/// What is held of a pool, by all or by one tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    pub jobs: usize,
    pub bytes: usize,
    /// Claims pass over its targets, until a quarter of the limit is free again.
    pub is_crowded: bool,
}

impl Holding {
    pub fn add(&mut self, jobs: usize, bytes: usize) {
        self.jobs += jobs;
        self.bytes += bytes;
    }

    pub fn remove(&mut self, jobs: usize, bytes: usize) {
        self.jobs = self.jobs.saturating_sub(jobs);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub fn reaches(&self, limit: PoolLimit) -> bool {
        self.jobs >= limit.jobs || self.bytes >= limit.bytes
    }

    /// Whether it became crowded, or ceased to be.
    pub fn judge(&mut self, limit: PoolLimit) -> bool {
        let before = self.is_crowded;
        let part = |whole: usize| if before { whole - whole / 4 } else { whole };
        let (jobs, bytes) = (part(limit.jobs), part(limit.bytes));
        self.is_crowded = self.reaches(PoolLimit { jobs, bytes, ..limit });
        self.is_crowded != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_pools_leave_room_for_prompt_targets() {
        for (concurrency, jobs) in [(1, 8), (512, 2_730), (5, 100), (4_000, 50_000)] {
            let limit = |pool| PoolLimit::of(pool, concurrency, jobs, jobs * 4_096);
            let others = [Pool::Untried, Pool::Slow, Pool::Troubled].map(limit);
            let held: usize = others.iter().map(|limit| limit.jobs).sum();
            assert!(held <= jobs * 3 / 4 + 3, "{held} of {jobs}");
            assert!(others.iter().all(|limit| limit.jobs > 0 && limit.in_flight > 0));
            assert!(limit(Pool::Prompt).in_flight > 0);
        }
    }

    #[test]
    fn a_crowded_pool_stays_so_until_a_quarter_is_free() {
        let limit = PoolLimit { in_flight: 8, jobs: 8, bytes: 1_000 };
        let mut holding = Holding::default();
        holding.add(7, 0);
        assert!(!holding.judge(limit));
        holding.add(1, 0);
        assert!(holding.judge(limit) && holding.is_crowded);
        holding.remove(2, 0);
        assert!(!holding.judge(limit), "6 of 8 are left");
        holding.remove(1, 0);
        assert!(holding.judge(limit) && !holding.is_crowded);
    }
}
