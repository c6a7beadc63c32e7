//! Lanes whose concurrency is a hard limit, as a mail server asks for: an attempt holds its slot from its start to
//! its end, so an attempt that hangs cannot move out of the way as elsewhere ([`super::pool`]).
//!
//! Targets that have not proven themselves, and those in trouble, share half of the slots ([`half`]). A target is in
//! trouble when an attempt hangs (is out for longer than [`Scheduler::patience`]), or fails after [`MIN_PATIENCE`] or more. Where attempts of targets
//! that were fine until then hang, more than half of the slots may be held by attempts that hang: those beyond are cut as
//! soon as someone else waits for a slot ([`Scheduler::hung`], [`crate::preemption`]).
//!
//! Nobody knows which of those that were fine will hang next, so each may cost one attempt. They share the time
//! for that: the more wait, the sooner an attempt is cut, but not before several times as long as the lane
//! usually takes.

use std::time::Duration;

use gancho_domain::{TenantId, Time};

use super::{
    Key, LaneLimits, Outcome, Pool, PoolLimit, Scheduler, SlotPolicy, flights::FlightId,
    history::Age,
};

/// An attempt that is out for longer hangs, if few wait.
const MAX_PATIENCE: Duration = Duration::from_secs(10);
/// The same, however many wait. An attempt that fails sooner harms nobody, and puts its target in no trouble.
pub(super) const MIN_PATIENCE: Duration = Duration::from_secs(1);
/// No attempt is cut before this many times the time that accepted ones take on average, or [`MAX_PATIENCE`]: tenants whose
/// servers are slow do not decide how long others wait.
const SLOWER: u32 = 8;
/// How often attempts that hang are looked at while others wait.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the largest crowd is remembered: those at its end are not more patient than those at its head.
const CROWD_KEPT: Duration = Duration::from_mins(1);
/// Deliveries of a pool that may wait in memory, however few slots there are.
const MIN_SEATS: usize = 64;

/// What a hard lane knows about its attempts.
#[derive(Debug, Default)]
pub(super) struct HardLane {
    /// How long accepted attempts take, on average.
    typical: Duration,
    /// The most attempts that waited lately, of as many as tenants may start in one turn, and when.
    crowd: (u32, Time),
}

/// The slots for targets that are not proven or in trouble.
fn half(concurrency: u32) -> u32 {
    (concurrency / 2).max(1)
}

/// What a pool of a hard lane may hold.
pub(super) fn limit_of(pool: Pool, limits: &LaneLimits) -> PoolLimit {
    let limit = PoolLimit::of(pool, limits.concurrency, limits.max_jobs, limits.max_bytes);
    let in_flight = match pool {
        Pool::Untried | Pool::Troubled => half(limits.concurrency),
        _ => limits.concurrency,
    };
    // Some wait in memory for the few slots: a pool whose room is that small would be crowded, and not, at every turn.
    let jobs = limit.jobs.max(limits.max_jobs.div_ceil(8).min(MIN_SEATS));
    PoolLimit { in_flight, jobs, ..limit }
}

/// Attempts that hold slots which others wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HungFlights {
    /// How many of them have to end.
    pub surplus: usize,
    /// How long a first attempt may be out.
    pub patience: Duration,
    /// The longest first, each with the time for which it has been out.
    pub flights: Vec<(FlightId, Duration)>,
}

impl<T> Scheduler<T> {
    /// Moves attempts that hang, and their targets, to [`Pool::Troubled`].
    pub(super) fn age_hard(&mut self, now: Time) {
        self.count_crowd(now);
        let patience = self.patience();
        let hung =
            self.flights.oldest().take_while(|(_, flight)| now.since(flight.started) >= patience);
        let unmoved = hung.filter(|(_, flight)| flight.pool != Pool::Troubled);
        let unmoved: Vec<(FlightId, Key)> = unmoved.map(|(id, flight)| (id, flight.key)).collect();
        for (id, key) in unmoved {
            if let Some(line) = self.targets.get_mut(&key) {
                line.history.overdue(Age::TooLate);
            }
            self.move_flight(id, Pool::Troubled);
            self.place(key, now);
        }
    }

    fn count_crowd(&mut self, now: Time) {
        let tenants = [Pool::Prompt, Pool::Untried].map(|pool| self.pools[pool].turns.len() as u32);
        // A tenant may start several before the first of them is known to hang.
        let starts = tenants.iter().sum::<u32>().saturating_mul(self.limits.tenant_batch);
        let waiting = starts.min(self.queued as u32);
        let (largest, at) = self.hard.crowd;
        // A clock that went back would keep it for as long as it went.
        if waiting >= largest || at > now || now.since(at) >= CROWD_KEPT {
            self.hard.crowd = (waiting, now);
        }
    }

    /// How long a first attempt may be out before it counts as hanging.
    fn patience(&self) -> Duration {
        let LaneLimits { concurrency, .. } = self.limits;
        let (waiting, _) = self.hard.crowd;
        let each = MAX_PATIENCE * (concurrency - concurrency / 2) / waiting.max(1);
        let minimum = (self.hard.typical * SLOWER).clamp(MIN_PATIENCE, MAX_PATIENCE);
        each.clamp(minimum, MAX_PATIENCE)
    }

    pub(super) fn has_hard_slot(&self, pool: Pool) -> bool {
        let is_weak = matches!(pool, Pool::Untried | Pool::Troubled);
        self.in_flight() < self.limits.concurrency
            && (!is_weak || self.weak_in_flight() < half(self.limits.concurrency))
    }

    /// The attempts of targets that are not proven or in trouble.
    fn weak_in_flight(&self) -> u32 {
        self.pools[Pool::Untried].in_flight + self.pools[Pool::Troubled].in_flight
    }

    /// The attempts that hang while others wait for a slot.
    pub fn hung(&self, now: Time) -> HungFlights {
        if self.limits.policy != SlotPolicy::Hard || !self.rate_allows(now) {
            return HungFlights::default();
        }
        let surplus = self.surplus() as usize;
        if surplus == 0 {
            return HungFlights::default();
        }
        let troubled = self.flights.oldest().filter(|(_, flight)| flight.pool == Pool::Troubled);
        let flights = troubled.map(|(id, flight)| (id, now.since(flight.started))).collect();
        HungFlights { surplus, patience: self.patience(), flights }
    }

    fn surplus(&self) -> u32 {
        let LaneLimits { concurrency, .. } = self.limits;
        let weak = self.weak_in_flight();
        let waiting = |pool: Pool| self.pools[pool].turns.len() as u32;
        let beyond = weak.saturating_sub(concurrency / 2);
        if waiting(Pool::Prompt) > 0 && self.in_flight() >= concurrency && beyond > 0 {
            return waiting(Pool::Prompt).min(beyond);
        }
        // A target without a history gets a slot of the weak, however many are in trouble.
        let is_shut_out = weak >= half(concurrency) && self.pools[Pool::Untried].in_flight == 0;
        u32::from(waiting(Pool::Untried) > 0 && is_shut_out)
    }

    /// When to look again although nothing happened.
    pub(super) fn wake_hard_at(&self, now: Time) -> Option<Time> {
        // While nothing is queued, nobody waits for the slot of an attempt that hangs.
        let (_, oldest) = self.flights.oldest().next().filter(|_| self.queued > 0)?;
        Some((oldest.started + self.patience()).max(now + LOOK_EVERY))
    }

    /// Charges a tenant for the time for which an attempt held a slot: those that hold slots for long come after those
    /// that do not.
    pub(super) fn charge(&mut self, tenant: TenantId, held: Duration, outcome: Outcome) {
        if let Outcome::Tried { at_fault: false, .. } = outcome {
            self.hard.typical = (self.hard.typical * 7 + held) / 8;
        }
        let Some(owner) = self.tenants.get_mut(&tenant) else {
            return;
        };
        for pool in [Pool::Prompt, Pool::Untried, Pool::Troubled] {
            let mine = owner.of_mut(pool);
            if mine.turn.is_some() {
                mine.cost += held;
            } else {
                mine.had = mine.had.after(held);
            }
        }
    }
}
