//! The pools of a lane: how its slots and its seats are divided, so that targets that wait cannot take
//! what targets that answer need.
//!
//! An attempt that waits for an answer costs a socket and a little memory, not a share of the machine.
//! So the slots of a lane are for attempts that have only just begun: one that is still out after
//! [`QUICK`] moves on to a pool of its own kind. Each pool is bounded, a part of it is left for other
//! tenants, and no pool but the first can fill the room in memory.

use std::time::Duration;

use crate::room::Size;

/// An answer that takes longer is not quick. Up to here a lane's slots are enough for all that a machine can send.
pub const QUICK: Duration = Duration::from_millis(20);
/// One that takes longer is not prompt.
pub const PROMPT: Duration = Duration::from_millis(100);
/// One that takes longer is slow.
pub const MODERATE: Duration = Duration::from_millis(400);

/// A target draws on one pool at a time, by what its answers said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pool {
    /// Its deliveries succeed, within [`QUICK`].
    Quick,
    /// Its deliveries succeed, within [`PROMPT`].
    Prompt,
    /// It has not answered yet, and need not have.
    Untried,
    /// Its deliveries succeed, within [`MODERATE`].
    Moderate,
    /// Its deliveries succeed, but take longer, or its rate is limited.
    Slow,
    /// It fails, does not answer, or is slower than [`gancho_domain::pace::SLOW`].
    Troubled,
}

impl Pool {
    pub const ALL: [Self; 6] =
        [Self::Quick, Self::Prompt, Self::Untried, Self::Moderate, Self::Slow, Self::Troubled];
    pub const COUNT: usize = Self::ALL.len();

    /// Where pools compete for the lane's rate, each is first in some of the turns.
    const TURNS: [Self; 12] = [
        Self::Quick,
        Self::Prompt,
        Self::Untried,
        Self::Moderate,
        Self::Quick,
        Self::Prompt,
        Self::Slow,
        Self::Untried,
        Self::Quick,
        Self::Moderate,
        Self::Slow,
        Self::Troubled,
    ];

    pub fn index(self) -> usize {
        self as usize
    }

    /// Its targets answer so soon that they may fill the room in memory.
    pub fn is_prompt(self) -> bool {
        matches!(self, Self::Quick | Self::Prompt)
    }

    /// The order in which pools are served at the given turn.
    pub fn order(turn: usize) -> impl Iterator<Item = Self> {
        let first = Self::TURNS[turn % Self::TURNS.len()];
        std::iter::once(first).chain(Self::ALL)
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
    /// The maximum of attempts on the wire for each of a lane's slots, in all pools together.
    pub const OUT_PER_SLOT: u32 = 10;

    /// `concurrency` is for attempts that have only just begun; `jobs` and `bytes` are the lane's part of
    /// the room.
    pub fn of(pool: Pool, concurrency: u32, jobs: usize, bytes: usize) -> Self {
        let (in_flight, part) = match pool {
            Pool::Quick => (concurrency - concurrency / 8, 1),
            Pool::Prompt => (concurrency, 1),
            Pool::Untried => (concurrency.div_ceil(2), 8),
            Pool::Moderate | Pool::Slow => (concurrency.saturating_mul(2), 4),
            Pool::Troubled => (concurrency, 8),
        };
        let (jobs, bytes) = (jobs.div_ceil(part), bytes.div_ceil(part));
        match pool {
            Pool::Quick | Pool::Prompt | Pool::Untried => {
                // Some of what is in memory waits for its turn.
                let max_out = (jobs - jobs / 4) as u32;
                Self { in_flight: in_flight.min(max_out), jobs, bytes }
            }
            // Each seat has a slot, and so have those of a claim that brought more: an attempt here may take
            // seconds, too long to wait for.
            Pool::Moderate | Pool::Slow | Pool::Troubled => {
                let jobs = jobs.min(in_flight as usize);
                Self { in_flight: (jobs + jobs / 2) as u32, jobs, bytes }
            }
        }
    }

    fn part(self, of: usize) -> Self {
        Self { jobs: self.jobs.div_ceil(of), bytes: self.bytes.div_ceil(of), ..self }
    }

    /// What one of `tenants` may hold of it, when `others` is what the others hold: a fixed part where attempts
    /// are short, and elsewhere half of what the others leave, or an equal part if that is more. However many
    /// tenants there are, some is left for the next. A fifth is for tenants that hold nothing, because a claim
    /// may bring more than was asked for.
    pub fn of_one_tenant(self, pool: Pool, others: Size, tenants: usize) -> Self {
        match pool {
            Pool::Quick | Pool::Prompt => self.part(4),
            Pool::Untried => self.part(2),
            Pool::Moderate | Pool::Slow | Pool::Troubled => {
                let part = |whole: usize, taken: usize| {
                    let half = shared(whole).saturating_sub(taken).div_ceil(2);
                    half.max(each(whole, tenants)).max(1)
                };
                let (jobs, bytes) = (part(self.jobs, others.jobs), part(self.bytes, others.bytes));
                Self { jobs, bytes, ..self }
            }
        }
    }

    /// Deliveries that each of `tenants` may hold when all want as many as they can get.
    pub fn jobs_each(self, tenants: usize) -> usize {
        each(self.jobs, tenants)
    }
}

fn each(whole: usize, tenants: usize) -> usize {
    shared(whole) / (tenants + 1)
}

/// The part of a pool that tenants share who hold something of it already.
pub fn shared(whole: usize) -> usize {
    whole - whole / 5
}

/// What is held of a pool, by all or by one tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    pub jobs: usize,
    pub bytes: usize,
    /// Claims pass over its targets, until a part of the limit is free again.
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

    /// Whether it became crowded, or ceased to be: when one part of `parts` is free again.
    pub fn judge(&mut self, limit: PoolLimit, parts: usize) -> bool {
        let before = self.is_crowded;
        let part = |whole: usize| if before { whole - whole / parts } else { whole };
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
        for (concurrency, jobs) in [(1, 8), (512, 4_096), (5, 100), (4_000, 50_000)] {
            let limit = |pool| PoolLimit::of(pool, concurrency, jobs, jobs * 4_096);
            let others = [Pool::Untried, Pool::Moderate, Pool::Slow, Pool::Troubled].map(limit);
            let held: usize = others.iter().map(|limit| limit.jobs).sum();
            assert!(held <= jobs * 3 / 4 + 4, "{held} of {jobs}");
            assert!(others.iter().all(|limit| limit.jobs > 0 && limit.in_flight > 0));
            assert!(limit(Pool::Quick).in_flight > 0 && limit(Pool::Prompt).in_flight > 0);
        }
    }

    #[test]
    fn a_crowded_pool_stays_so_until_a_quarter_is_free() {
        let limit = PoolLimit { in_flight: 8, jobs: 8, bytes: 1_000 };
        let mut holding = Holding::default();
        holding.add(7, 0);
        assert!(!holding.judge(limit, 4));
        holding.add(1, 0);
        assert!(holding.judge(limit, 4) && holding.is_crowded);
        holding.remove(2, 0);
        assert!(!holding.judge(limit, 4), "6 of 8 are left");
        holding.remove(1, 0);
        assert!(holding.judge(limit, 4) && !holding.is_crowded);
    }
}
