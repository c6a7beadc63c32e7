//! The queue of one lane: whose delivery goes next.
//!
//! Targets draw on one of the pools, by how they answer (`pool`, `history`): a target that hangs
//! shares its pool with others of its kind and takes nothing from targets that answer promptly.
//! Within a pool tenants take turns, three deliveries at most while others wait; within a tenant its
//! targets take turns; within a target the first to come is the first to go. The next turn is of the tenant,
//! and of the target, that has had least of the pool's slots (`turns`), so that none is overtaken for ever, and
//! one that needs less than its part does not wait behind those that want more.
//!
//! **Invariant.** The rings hold exactly those who may go now: a target is in its tenant's ring for
//! its pool if something waits for it and it is open; a tenant is in the pool's ring if its own
//! ring is not empty. Whatever changes one of these calls `place`. So the next
//! delivery is found without looking at anyone who must wait, however many there are.
//!
//! **Invariant.** An attempt holds one of the lane's slots for no longer than [`pool::QUICK`], unless
//! the lane's concurrency is a hard limit (`hard_limit`).
//!
//! Nothing here awaits, reads a clock or rolls dice, and no order depends on a hash.

mod aging;
mod backlogs;
mod claims;
mod flights;
mod hard_limit;
mod history;
mod pausing;
mod placing;
mod pool;
mod pools;
mod queue_entry;
mod removable_queue;
mod sharing;
mod target;
mod tenant;
#[cfg(test)]
mod tests;
mod turns;
mod unexamined;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use gancho_domain::{Gcra, Rate, TenantId, Time, fairness::Holdings};
use gancho_store::TargetId;

pub use self::{
    backlogs::Moment,
    flights::FlightId,
    hard_limit::HungFlights,
    pausing::PauseSet,
    pool::{Pool, PoolLimit},
    queue_entry::QueueEntry,
    target::{BreakerChange, Outcome},
    tenant::Share,
};
use self::{
    flights::{Flight, Flights},
    hard_limit::HardLane,
    pools::Pools,
    sharing::{FleetLimits, own_part},
    target::{Readiness, TargetLine},
    tenant::TenantLine,
};

use crate::TargetStatus;

/// The cost of a delivery that is charged for the time for which it held its slot once it has ended.
const EQUAL_COST: Duration = Duration::from_millis(1);

/// A target belongs to one tenant; keys lead with the tenant so that its targets lie together.
type Key = (TenantId, TargetId);

/// What holds a slot of a lane, and how targets share the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotPolicy {
    /// Slots are for attempts that have just begun. Targets share them by how fast they answer ([`pool`]).
    ByLatency,
    /// The concurrency bounds every attempt from its start to its end: a contract with the far side, as with a
    /// mail server. Half of the slots is for targets that have proven themselves ([`hard_limit`]).
    Hard,
    /// The same, and every target may use every slot. For tests: this is what isolation prevents.
    HardUnsorted,
}

impl SlotPolicy {
    pub fn is_hard(self) -> bool {
        self != Self::ByLatency
    }

    fn is_unsorted(self) -> bool {
        self == Self::HardUnsorted
    }
}

/// What limits a lane as a whole.
#[derive(Debug, Clone, Copy)]
pub struct LaneLimits {
    /// Attempts at once. Those that have been out for long do not count, unless the limit is hard.
    pub concurrency: u32,
    pub policy: SlotPolicy,
    pub rate: Option<Rate>,
    /// Deliveries of one tenant in a row while others wait.
    pub tenant_batch: u32,
    /// The lane's part of what may be in memory. One tenant may have a quarter of it before claims
    /// pass it over, one target an eighth of the bytes.
    pub max_jobs: usize,
    pub max_bytes: usize,
    /// Maximum number of idle targets that are remembered with their breaker, pace and rate.
    pub remembered: usize,
}

impl LaneLimits {
    fn of_pool(&self, pool: Pool) -> PoolLimit {
        if self.policy.is_hard() {
            hard_limit::limit_of(pool, self)
        } else {
            PoolLimit::of(pool, self.concurrency, self.max_jobs, self.max_bytes)
        }
    }
}

pub struct Scheduler<T> {
    /// This node's part of what was set.
    limits: LaneLimits,
    whole: FleetLimits,
    tenants: BTreeMap<TenantId, TenantLine>,
    targets: BTreeMap<Key, TargetLine<T>>,
    pools: Pools,
    /// Turns ended so far.
    rounds: u64,
    /// Deliveries taken so far: decides which pool is served first.
    taken: usize,
    rate_state: Gcra,
    flights: Flights,
    queued: usize,
    timers: BTreeSet<(Time, Key)>,
    /// Targets with nothing to do.
    idle: usize,
    hard: HardLane,
    /// How many targets each tenant has in memory.
    owners: Holdings<TenantId>,
    pauses: PauseSet,
    claims: claims::Claims,
    /// Put back because their target is paused or rests; to be released.
    evicted: Vec<T>,
    last_now: Time,
}

/// A delivery in flight. Given back with [`Scheduler::finished`].
#[derive(Debug, PartialEq, Eq)]
pub struct Slot {
    key: Key,
    bytes: usize,
    flight: FlightId,
}

impl Slot {
    pub fn flight(&self) -> FlightId {
        self.flight
    }
}

impl<T> Scheduler<T> {
    pub fn new(limits: LaneLimits) -> Self {
        Self {
            limits,
            whole: FleetLimits::of(&limits),
            tenants: BTreeMap::new(),
            targets: BTreeMap::new(),
            pools: Pools::new(|pool| limits.of_pool(pool)),
            rounds: 0,
            taken: 0,
            rate_state: Gcra::default(),
            flights: Flights::default(),
            queued: 0,
            timers: BTreeSet::new(),
            hard: HardLane::default(),
            idle: 0,
            owners: Holdings::default(),
            pauses: PauseSet::default(),
            claims: claims::Claims::new(),
            evicted: Vec::new(),
            last_now: Time::ZERO,
        }
    }

    /// Puts a delivery at the end of its target's line, or at its head if it is urgent.
    pub fn push(&mut self, new: QueueEntry<T>, now: Time) {
        let key = new.key;
        let nodes = self.whole.nodes;
        let owner = self.tenants.entry(key.0).or_default();
        let line = self.targets.entry(key).or_insert_with(|| {
            self.owners.add(key.0);
            TargetLine::new(own_part(new.max_in_flight, nodes), self.limits.policy)
        });
        line.agree(new.max_in_flight, new.rate, nodes);
        if new.is_urgent {
            line.push_first(new.item, new.bytes, now);
        } else {
            line.push(new.item, new.bytes);
        }
        owner.queued += 1;
        self.queued += 1;
        self.place(key, now);
    }

    /// The delivery to carry now, if there is one.
    pub fn next(&mut self, now: Time) -> Option<(Slot, T)> {
        self.catch_up(now);
        while self.rate_allows(now) {
            let (pool, tenant) = self.whose_turn()?;
            let target = self.tenants.get(&tenant)?.of(pool).ready.front()?;
            let key = (tenant, target);
            if let Some((flight, item, bytes)) = self.take(key, pool, now) {
                return Some((Slot { key, bytes, flight }, item));
            }
            // A clock that went back has closed its rate again.
            self.place(key, now);
        }
        None
    }

    /// The target's slot is free again. Returns what that changed about its circuit breaker.
    #[expect(clippy::needless_pass_by_value, reason = "a slot is given back once")]
    pub fn finished(&mut self, slot: Slot, outcome: Outcome, now: Time) -> Option<BreakerChange> {
        let Slot { key, bytes, flight } = slot;
        if let Some(flight) = self.flights.end(flight) {
            self.leave_pool(key.0, flight.pool);
            if self.limits.policy == SlotPolicy::Hard {
                self.charge(key.0, now.since(flight.started), outcome);
            }
        }
        let line = self.targets.get_mut(&key);
        let change = line.and_then(|line| line.finish(outcome, bytes, now));
        self.place(key, now);
        change
    }

    /// When to call [`Scheduler::next`] again although nothing happened.
    pub fn wake_at(&self, now: Time) -> Option<Time> {
        let timer = self.timers.first().map(|(at, _)| *at);
        // While nothing is queued, no delivery needs the slot of an overdue attempt.
        let overdue = match self.limits.policy {
            SlotPolicy::ByLatency => self.flights.next_at().filter(|_| self.queued > 0),
            SlotPolicy::Hard => self.wake_hard_at(now),
            SlotPolicy::HardUnsorted => None,
        };
        let waits_for_rate = self.servable().is_some() && !self.pauses.lane;
        let rate = self.limits.rate.filter(|_| waits_for_rate);
        let slot = rate.map(|rate| self.rate_state.free_at(rate, now));
        timer.into_iter().chain(overdue).chain(slot).min()
    }

    /// Everything that waits, to be released or dropped. What is in flight stays counted.
    pub fn drain(&mut self, now: Time) -> Vec<T> {
        let mut all = std::mem::take(&mut self.evicted);
        let keys: Vec<Key> = self.targets.keys().copied().collect();
        for key in keys {
            all.extend(self.put_back(key, 0));
            self.place(key, now);
        }
        all
    }

    pub fn queued(&self) -> usize {
        self.queued
    }

    pub fn in_flight(&self) -> u32 {
        self.pools.iter().map(|pool| pool.in_flight).sum()
    }

    /// One for each tenant that is remembered.
    pub fn shares(&self) -> Vec<Share> {
        let share = |(id, line): (&TenantId, &TenantLine)| line.share(*id, self.rounds);
        self.tenants.iter().map(share).collect()
    }

    /// What is known of a target.
    pub fn status(&self, key: Key, now: Time) -> Option<TargetStatus> {
        let is_behind = self.claims.is_behind(key);
        let status = self.targets.get(&key)?.status(is_behind, now);
        let lane_allows_at = self.limits.rate.map(|rate| self.rate_state.free_at(rate, now));
        let lane_allows_at = lane_allows_at.filter(|at| *at > now);
        Some(TargetStatus { rate_allows_at: status.rate_allows_at.max(lane_allows_at), ..status })
    }

    /// What waits in the line of a target.
    pub fn waiting(&self, key: Key) -> impl Iterator<Item = &T> {
        self.targets.get(&key).into_iter().flat_map(|line| &line.waiting).map(|(item, _)| item)
    }

    fn rate_allows(&self, now: Time) -> bool {
        let allows = |rate| self.rate_state.free_at(rate, now) <= now;
        !self.pauses.lane && self.limits.rate.is_none_or(allows)
    }

    fn has_slot(&self, pool: Pool) -> bool {
        if self.limits.policy.is_hard() {
            return self.has_hard_slot(pool);
        }
        let out = |pool: Pool| self.pools[pool].in_flight;
        // These two share the lane's slots.
        let is_young = matches!(pool, Pool::Quick | Pool::Untried);
        let young = out(Pool::Quick) + out(Pool::Untried);
        out(pool) < self.pools[pool].limit.in_flight
            && (!is_young || young < self.limits.concurrency)
    }

    /// The first pool with a free slot and somebody who may take it.
    fn servable(&self) -> Option<Pool> {
        let is_servable = |pool: &Pool| !self.pools[*pool].turns.is_empty() && self.has_slot(*pool);
        Pool::order(self.taken).find(is_servable)
    }

    /// The first in line that has not had its batch and, while others wait, does not hold half of the
    /// pool. A tenant that holds half keeps its place: it is first again when it does not.
    fn whose_turn(&mut self) -> Option<(Pool, TenantId)> {
        let pool = self.servable()?;
        let half = self.pools[pool].limit.in_flight.div_ceil(2);
        // While a slot is free only one tenant can hold half of them, so only the first two can have
        // been served without ending their turn: three steps at most.
        for _ in 0..3 {
            let turns = &self.pools[pool].turns;
            let first = turns.front()?;
            let Some(second) = turns.second() else {
                return Some((pool, first));
            };
            let of = |id| Some(self.tenants.get(id)?.of(pool));
            let had_its_turn = |id| Some(of(id)?.consecutive >= self.limits.tenant_batch);
            if had_its_turn(&first)? {
                self.end_turn(pool, first);
            } else if of(&first)?.in_flight < half {
                return Some((pool, first));
            } else if had_its_turn(&second)? {
                self.end_turn(pool, second);
            } else {
                return Some((pool, second));
            }
        }
        self.pools[pool].turns.front().map(|tenant| (pool, tenant))
    }

    /// The tenant goes behind those that have had less.
    fn end_turn(&mut self, pool: Pool, tenant: TenantId) {
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return;
        };
        self.rounds += 1;
        let mine = owner.of_mut(pool);
        mine.waits_since = self.rounds;
        if let Some(place) = mine.end_turn() {
            let turns = &mut self.pools[pool].turns;
            turns.leave(place);
            mine.turn = Some(turns.join(tenant, mine.had));
        }
    }

    fn take(&mut self, key: Key, pool: Pool, now: Time) -> Option<(FlightId, T, usize)> {
        let line = self.targets.get_mut(&key)?;
        if line.readiness(now) != Readiness::Open {
            return None;
        }
        let cost = if self.limits.policy.is_hard() { EQUAL_COST } else { line.history.cost() };
        let (item, bytes) = line.take(now)?;
        let owner = self.tenants.get_mut(&key.0)?;
        let mine = owner.of_mut(pool);
        if let Some(place) = line.turn.take() {
            mine.ready.serve(place);
            mine.ready.leave(place);
            line.had = place.after(cost);
        }
        mine.turn.inspect(|place| self.pools[pool].turns.serve(*place));
        mine.cost += cost;
        mine.in_flight += 1;
        mine.consecutive = mine.consecutive.saturating_add(1);
        owner.queued -= 1;
        owner.processed += 1;
        self.queued -= 1;
        self.taken = self.taken.wrapping_add(1);
        self.pools[pool].in_flight += 1;
        if let Some(rate) = self.limits.rate {
            self.rate_state.take(rate, now);
        }
        let flight = self.flights.start(Flight { key, pool, started: now });
        self.place(key, now);
        Some((flight, item, bytes))
    }
}
