//! The queue of one lane: whose delivery goes next.
//!
//! Tenants take turns, three deliveries at most while others wait; within a tenant its targets take
//! turns; within a target the first to come is the first to go. The line of tenants is in order of
//! arrival, so the first in it is always the one that waited most rounds: the most urgent by
//! [`gancho_domain::fairness::priority`], and no tenant can be overtaken for ever.
//!
//! **Invariant.** The rings hold exactly those who may go now: a target is in its tenant's ring if
//! something waits for it and it stands open; a tenant is in the lane's ring if its own ring is not
//! empty. Whatever changes one of these calls `place`. So the next
//! delivery is found without looking at anyone who must wait, however many there are.
//!
//! Nothing here awaits, reads a clock or rolls dice, and no order depends on a hash.

mod claims;
mod pausing;
mod placing;
mod ring;
mod target;
mod tenant;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use gancho_domain::{Rate, TenantId, Ticker, Time, fairness};
use gancho_store::TargetId;

pub use self::{pausing::PauseSet, target::Outcome, tenant::Share};
use self::{
    ring::Ring,
    target::{Stand, TargetLine},
    tenant::TenantLine,
};

/// A target belongs to one tenant; keys lead with the tenant so that its targets lie together.
type Key = (TenantId, TargetId);

/// What limits a lane as a whole.
#[derive(Debug, Clone, Copy)]
pub struct LaneLimits {
    /// At most so many in flight.
    pub concurrency: u32,
    pub rate: Option<Rate>,
    /// What the queue holds at most. One tenant may have a quarter of it before claims pass it over,
    /// one target an eighth of the bytes.
    pub most_jobs: usize,
    pub most_bytes: usize,
    /// So many targets with nothing to do are remembered with their breaker, pace and rate.
    pub remembered: usize,
}

pub struct Scheduler<T> {
    limits: LaneLimits,
    tenants: BTreeMap<TenantId, TenantLine>,
    targets: BTreeMap<Key, TargetLine<T>>,
    /// Tenants that have something that may go now.
    turns: Ring<TenantId>,
    /// Turns ended so far.
    rounds: u64,
    ticker: Ticker,
    in_flight: u32,
    queued: usize,
    timers: BTreeSet<(Time, Key)>,
    idle: Ring<Key>,
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
}

/// A delivery that enters the queue, and on what terms.
pub struct Incoming<T> {
    pub key: Key,
    pub most_in_flight: u32,
    pub rate: Option<Rate>,
    /// What it takes of the room.
    pub bytes: usize,
    pub item: T,
}

impl<T> Scheduler<T> {
    pub fn new(limits: LaneLimits) -> Self {
        Self {
            limits,
            tenants: BTreeMap::new(),
            targets: BTreeMap::new(),
            turns: Ring::default(),
            rounds: 0,
            ticker: Ticker::default(),
            in_flight: 0,
            queued: 0,
            timers: BTreeSet::new(),
            idle: Ring::default(),
            pauses: PauseSet::default(),
            claims: claims::Claims::new(),
            evicted: Vec::new(),
            last_now: Time::ZERO,
        }
    }

    /// Puts a delivery at the end of its target's line.
    pub fn push(&mut self, new: Incoming<T>, now: Time) {
        let key = new.key;
        let owner = self.tenants.entry(key.0).or_default();
        let line = self.targets.entry(key).or_insert_with(|| {
            owner.targets += 1;
            TargetLine::new(new.most_in_flight)
        });
        line.agree(new.most_in_flight, new.rate);
        line.push(new.item, new.bytes);
        owner.queued += 1;
        owner.bytes += new.bytes;
        self.queued += 1;
        self.place(key, now);
    }

    /// The delivery to carry now, if there is one.
    pub fn next(&mut self, now: Time) -> Option<(Slot, T)> {
        self.catch_up(now);
        while self.has_slot(now) {
            let tenant = self.whose_turn()?;
            let target = self.tenants.get(&tenant)?.ready.front()?;
            let key = (tenant, target);
            if let Some((item, bytes)) = self.take(key, now) {
                return Some((Slot { key, bytes }, item));
            }
            // A clock that went back has closed its rate again.
            self.place(key, now);
        }
        None
    }

    /// The target's slot is free again.
    #[expect(clippy::needless_pass_by_value, reason = "a slot is given back once")]
    pub fn finished(&mut self, slot: Slot, outcome: Outcome, now: Time) {
        let Slot { key, bytes } = slot;
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(owner) = self.tenants.get_mut(&key.0) {
            owner.in_flight = owner.in_flight.saturating_sub(1);
            owner.bytes = owner.bytes.saturating_sub(bytes);
        }
        if let Some(line) = self.targets.get_mut(&key) {
            line.finish(outcome, now);
        }
        self.place(key, now);
    }

    /// When to call [`Scheduler::next`] again although nothing happened.
    pub fn wake_at(&self, now: Time) -> Option<Time> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let waits_for_rate = !self.turns.is_empty() && self.in_flight < self.limits.concurrency;
        let rate = self.limits.rate.filter(|_| waits_for_rate && !self.pauses.lane);
        let slot = rate.map(|rate| self.ticker.free_at(rate, now));
        timer.into_iter().chain(slot).min()
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
        self.in_flight
    }

    /// One for each tenant that is remembered.
    pub fn shares(&self) -> Vec<Share> {
        let share = |(id, line): (&TenantId, &TenantLine)| line.share(*id, self.rounds);
        self.tenants.iter().map(share).collect()
    }

    fn has_slot(&self, now: Time) -> bool {
        let rate_allows = |rate| self.ticker.free_at(rate, now) <= now;
        !self.pauses.lane
            && self.in_flight < self.limits.concurrency
            && self.limits.rate.is_none_or(rate_allows)
    }

    /// The first in line that has not had its three and, while others wait, does not hold half of the
    /// lane. Who holds half keeps its place: it is first again when it does not.
    fn whose_turn(&mut self) -> Option<TenantId> {
        let half = self.limits.concurrency.div_ceil(2);
        // While a slot is free only one tenant can hold half of them, so only the first two can have
        // been served without ending their turn: three steps at most.
        for _ in 0..3 {
            let first = self.turns.front()?;
            let Some(second) = self.turns.second() else {
                return Some(first);
            };
            let had_its_turn = |id| Some(self.tenants.get(id)?.consecutive >= fairness::TURN);
            if had_its_turn(&first)? {
                self.end_turn(first);
            } else if self.tenants.get(&first)?.in_flight < half {
                return Some(first);
            } else if had_its_turn(&second)? {
                self.end_turn(second);
            } else {
                return Some(second);
            }
        }
        self.turns.front()
    }

    /// The tenant goes to the end of the line.
    fn end_turn(&mut self, tenant: TenantId) {
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return;
        };
        self.rounds += 1;
        owner.consecutive = 0;
        owner.waits_since = self.rounds;
        if let Some(place) = owner.turn {
            self.turns.remove(place);
            owner.turn = Some(self.turns.push_back(tenant));
        }
    }

    fn take(&mut self, key: Key, now: Time) -> Option<(T, usize)> {
        let line = self.targets.get_mut(&key)?;
        if line.stand(now) != Stand::Open {
            return None;
        }
        let item = line.take(now)?;
        let owner = self.tenants.get_mut(&key.0)?;
        // The tenant's other targets come first now.
        if let Some(place) = line.turn.take() {
            owner.ready.remove(place);
        }
        owner.queued -= 1;
        owner.in_flight += 1;
        owner.processed += 1;
        owner.consecutive = owner.consecutive.saturating_add(1);
        self.queued -= 1;
        self.in_flight += 1;
        if let Some(rate) = self.limits.rate {
            self.ticker.take(rate, now);
        }
        self.place(key, now);
        Some(item)
    }
}
