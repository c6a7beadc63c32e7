//! Decides what is recorded if there is too much, and counts what is left out.
//!
//! Unauthenticated callers and tenants cannot fill the log: refused actions have a rate per caller and
//! address, and one in total; actions of a tenant's programs have one per tenant. Actions beyond a rate are
//! counted, and reported in one entry.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use gancho_access::{Actor, ActorKind};
use gancho_domain::{Gcra, Rate, TenantId, Time};
use parking_lot::Mutex;

/// Maximum refused actions of one caller from one address, and failed logins from one address.
const REFUSALS: Rate = Rate { count: 60, per: Duration::from_mins(10) };
/// Maximum refused actions and failed logins in total.
const ALL_REFUSALS: Rate = Rate { count: 3_000, per: Duration::from_mins(10) };
/// Maximum actions of one tenant's credentials.
const TENANT_ACTS: Rate = Rate { count: 3_600, per: Duration::from_hours(1) };
/// The number of counters that callers share, by hash.
const SLOTS: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Record,
    /// The first action that this counter leaves out since its last report. Report their number after a
    /// while, with [`AuditLimits::take_left_out`].
    LeaveOutAndReport(CounterKey),
    LeaveOut,
}

/// Identifies one of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterKey {
    is_refusal: bool,
    slot: usize,
}

#[derive(Clone, Default)]
struct Counter {
    rate: Gcra,
    left_out: u64,
}

pub struct AuditLimits {
    hasher: RandomState,
    refusals: Mutex<Box<[Counter]>>,
    all_refusals: Mutex<Gcra>,
    tenant_acts: Mutex<Box<[Counter]>>,
}

impl Default for AuditLimits {
    fn default() -> Self {
        let slots = || Mutex::new(vec![Counter::default(); SLOTS].into_boxed_slice());
        Self {
            hasher: RandomState::new(),
            refusals: slots(),
            all_refusals: Mutex::default(),
            tenant_acts: slots(),
        }
    }
}

impl AuditLimits {
    pub fn admit(
        &self,
        actor: &Actor,
        tenant: Option<TenantId>,
        address: &str,
        is_done: bool,
        now: Time,
    ) -> Admission {
        let is_tenants = matches!(actor.kind, ActorKind::ApiKey | ActorKind::Portal);
        if is_done && !is_tenants {
            return Admission::Record;
        }
        // All keys of a tenant share a counter, so that many keys record no more than one.
        let caller =
            if is_tenants { self.hasher.hash_one(tenant) } else { self.hasher.hash_one(actor) };
        let hash = if is_done { caller } else { self.hasher.hash_one((caller, address)) };
        let key = CounterKey { is_refusal: !is_done, slot: hash as usize % SLOTS };
        let rate = if is_done { TENANT_ACTS } else { REFUSALS };
        let mut counters = self.counters(key).lock();
        let counter = &mut counters[key.slot];
        let is_free = is_free(counter.rate, rate, now)
            && (is_done || take(&mut self.all_refusals.lock(), ALL_REFUSALS, now));
        if is_free {
            counter.rate.take(rate, now);
            return Admission::Record;
        }
        counter.left_out += 1;
        match counter.left_out {
            1 => Admission::LeaveOutAndReport(key),
            _ => Admission::LeaveOut,
        }
    }

    /// Returns how many were left out since the last call.
    pub fn take_left_out(&self, key: CounterKey) -> u64 {
        std::mem::take(&mut self.counters(key).lock()[key.slot].left_out)
    }

    fn counters(&self, key: CounterKey) -> &Mutex<Box<[Counter]>> {
        if key.is_refusal { &self.refusals } else { &self.tenant_acts }
    }
}

fn is_free(gcra: Gcra, rate: Rate, now: Time) -> bool {
    gcra.free_at(rate, now) <= now
}

fn take(gcra: &mut Gcra, rate: Rate, now: Time) -> bool {
    let is_free = is_free(*gcra, rate, now);
    if is_free {
        gcra.take(rate, now);
    }
    is_free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_and_tenants_are_bounded_and_operators_are_not() {
        let limits = AuditLimits::default();
        let count = |kind, tenant, address: &str, is_done| {
            let actor = Actor::new(kind, "someone");
            let tenant = Some(TenantId::from_bits(tenant));
            let now = Time::from_secs(1_000);
            let admit =
                |_: &u32| limits.admit(&actor, tenant, address, is_done, now) == Admission::Record;
            (0..10_000_u32).filter(admit).count()
        };
        assert_eq!(count(ActorKind::User, 1, "a", true), 10_000);
        assert_eq!(count(ActorKind::Operator, 1, "a", true), 10_000);
        assert_eq!(count(ActorKind::Anonymous, 1, "a", false), 60);
        assert_eq!(count(ActorKind::Anonymous, 1, "a", false), 0);
        assert_eq!(count(ActorKind::Anonymous, 1, "b", false), 60, "another address has its own");
        assert_eq!(count(ActorKind::ApiKey, 1, "a", true), 3_600);
        assert_eq!(count(ActorKind::Portal, 1, "b", true), 0, "a tenant's credentials share it");
    }

    #[test]
    fn many_addresses_record_no_more_than_a_part() {
        let limits = AuditLimits::default();
        let actor = Actor::new(ActorKind::Anonymous, "");
        let now = Time::from_secs(1_000);
        let admit = |number: &u32| {
            let address = format!("10.0.{}.{}", number / 250, number % 250);
            limits.admit(&actor, None, &address, false, now) == Admission::Record
        };
        assert_eq!((0..50_000_u32).filter(admit).count(), 3_000);
    }

    #[test]
    fn what_is_left_out_is_counted_and_reported_once() {
        let limits = AuditLimits::default();
        let actor = Actor::new(ActorKind::Anonymous, "");
        let now = Time::from_secs(1_000);
        let all: Vec<_> = (0..100).map(|_| limits.admit(&actor, None, "a", false, now)).collect();
        let reports: Vec<_> = all
            .iter()
            .filter_map(|one| match one {
                Admission::LeaveOutAndReport(key) => Some(*key),
                _ => None,
            })
            .collect();
        let [key] = reports[..] else { panic!("{reports:?}") };
        assert_eq!(limits.take_left_out(key), 40);
        assert_eq!(limits.take_left_out(key), 0);
        let next = limits.admit(&actor, None, "a", false, now);
        assert_eq!(next, Admission::LeaveOutAndReport(key));
    }
}
