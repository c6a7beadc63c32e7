//! Lanes whose concurrency is a hard limit, as a mail server asks for: an attempt holds its slot from its start to
//! its end, so an attempt that hangs cannot move out of the way as elsewhere ([`super::pool`]).
//!
//! Targets that have not proven themselves, and those in trouble, share half of the slots ([`half`]). A target is in
//! trouble when an attempt fails, or is out for longer than [`HANGS`]. Where attempts of targets that were fine until then
//! hang, more than half of the slots may be held by attempts that hang: those beyond are cut as soon as someone else
//! waits for a slot and their patience is over ([`Scheduler::hung`], [`crate::cut`]).

use std::time::Duration;

use gancho_domain::{TenantId, Time};

use super::{
    Key, LaneLimits, Pool, PoolLimit, Scheduler, SlotPolicy, flights::FlightId, standing::Age,
};

/// An attempt that is out for longer hangs.
const HANGS: Duration = Duration::from_secs(10);
/// How often attempts that hang are looked at while others wait.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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
    PoolLimit { in_flight, ..limit }
}

/// Attempts that hold slots which others wait for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HungFlights {
    /// How many of them have to end.
    pub surplus: usize,
    /// The longest first, each with the time for which it has been out.
    pub flights: Vec<(FlightId, Duration)>,
}

impl<T> Scheduler<T> {
    /// Moves attempts that hang, and their targets, to [`Pool::Troubled`].
    pub(super) fn age_hard(&mut self, now: Time) {
        let hung =
            self.flights.oldest().take_while(|(_, flight)| now.since(flight.started) >= HANGS);
        let unmoved = hung.filter(|(_, flight)| flight.pool != Pool::Troubled);
        let unmoved: Vec<(FlightId, Key)> = unmoved.map(|(id, flight)| (id, flight.key)).collect();
        for (id, key) in unmoved {
            if let Some(line) = self.targets.get_mut(&key) {
                line.standing.overdue(Age::TooLate);
            }
            self.move_flight(id, Pool::Troubled);
            self.place(key, now);
        }
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
        HungFlights { surplus, flights }
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
        Some((oldest.started + HANGS).max(now + LOOK_EVERY))
    }

    /// Charges a tenant for the time for which an attempt held a slot: those that hold slots for long come after those
    /// that do not.
    pub(super) fn charge(&mut self, tenant: TenantId, held: Duration) {
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
