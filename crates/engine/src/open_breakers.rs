//! Collects which circuit breakers are open on all nodes: each node opens its own, and users may ask any
//! node.

use std::{collections::HashMap, time::Duration};

use gancho_domain::{Lane, TenantId, Time, fairness::Holdings};
use gancho_store::TargetId;
use parking_lot::Mutex;

use crate::{
    Engine, TargetStatus,
    scheduler::{BreakerChange, Pool},
};

/// A circuit breaker that is open, or half-open once `until` has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenBreaker {
    pub lane: Lane,
    pub tenant: TenantId,
    pub target: TargetId,
    pub until: Time,
}

/// Maximum open breakers that a node reports. If it has more, it leaves out some of the tenant that has most.
const MAX_KNOWN: usize = 500;
/// After this time without an attempt, a breaker says nothing about its target any more.
const FORGET_AFTER: Duration = Duration::from_mins(10);

type Key = (Lane, TenantId, TargetId);

#[derive(Default)]
pub(crate) struct OpenBreakers {
    own: Mutex<HashMap<Key, Time>>,
    of_others: Mutex<HashMap<Key, Time>>,
}

impl OpenBreakers {
    pub fn note(&self, key: Key, change: BreakerChange, now: Time) {
        let mut own = self.own.lock();
        match change {
            BreakerChange::Closed => {
                own.remove(&key);
            }
            BreakerChange::Opened { until } => {
                if own.len() >= MAX_KNOWN {
                    own.retain(|_, until| now.since(*until) < FORGET_AFTER);
                }
                own.insert(key, until);
                if own.len() > MAX_KNOWN {
                    forget_one(&mut own);
                }
            }
        }
    }

    fn elsewhere(&self, key: Key, now: Time) -> Option<TargetStatus> {
        let until = *self.of_others.lock().get(&key)?;
        let rests_until = (until > now).then_some(until);
        Some(TargetStatus {
            pool: Pool::Troubled,
            has_failed: true,
            in_flight: 0,
            queued: 0,
            rests_until,
            is_probed: rests_until.is_none(),
            rate_allows_at: None,
            is_at_limit: false,
            is_behind: false,
        })
    }
}

/// Removes one breaker of the tenant that has most, the one that ends first.
fn forget_one(own: &mut HashMap<Key, Time>) {
    let mut owners = Holdings::default();
    for (_, tenant, _) in own.keys() {
        owners.add(*tenant);
    }
    let largest = owners.largest();
    let of_largest = own.iter().filter(|((_, tenant, _), _)| Some(*tenant) == largest);
    let first = of_largest.min_by_key(|(_, until)| **until).map(|(key, _)| *key);
    first.map(|key| own.remove(&key));
}

impl Engine {
    /// Returns the circuit breakers that this node has opened, in a fixed order.
    pub fn open_breakers(&self) -> Vec<OpenBreaker> {
        let now = self.clock.now();
        let mut own = self.open_breakers.own.lock();
        own.retain(|_, until| now.since(*until) < FORGET_AFTER);
        let mut open: Vec<_> = own
            .iter()
            .map(|(&(lane, tenant, target), &until)| OpenBreaker { lane, tenant, target, until })
            .collect();
        open.sort_by_key(|one| (one.lane.number(), one.tenant, one.target));
        open
    }

    /// Replaces what is known of the other nodes' breakers.
    pub fn show_breakers(&self, of_others: impl IntoIterator<Item = OpenBreaker>) {
        let mut latest: HashMap<Key, Time> = HashMap::new();
        for OpenBreaker { lane, tenant, target, until } in of_others {
            let known = latest.entry((lane, tenant, target)).or_insert(until);
            *known = until.max(*known);
        }
        *self.open_breakers.of_others.lock() = latest;
    }

    /// Returns what this node has seen of a target; if that shows no trouble, what another node has seen.
    pub(crate) fn fleet_status(
        &self,
        seen: Option<TargetStatus>,
        key: Key,
    ) -> Option<TargetStatus> {
        let is_open = |seen: &TargetStatus| seen.rests_until.is_some() || seen.is_probed;
        if seen.as_ref().is_some_and(is_open) {
            return seen;
        }
        let elsewhere = self.open_breakers.elsewhere(key, self.clock.now());
        match (seen, elsewhere) {
            (Some(seen), Some(elsewhere)) => Some(TargetStatus {
                in_flight: seen.in_flight,
                queued: seen.queued,
                rate_allows_at: seen.rate_allows_at,
                is_at_limit: seen.is_at_limit,
                is_behind: seen.is_behind,
                ..elsewhere
            }),
            (seen, elsewhere) => seen.or(elsewhere),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_with_very_many_does_not_hide_those_of_others() {
        let (breakers, now) = (OpenBreakers::default(), Time::from_secs(1_000));
        let open = |tenant, target| {
            let key = (Lane::Webhook, TenantId::from_bits(tenant), TargetId::from_bits(target));
            let until = now + Duration::from_secs(60);
            breakers.note(key, BreakerChange::Opened { until }, now);
        };
        open(2, 1);
        (0..2_000).for_each(|target| open(1, target));
        open(3, 1);
        let own = breakers.own.lock();
        let of = |tenant| own.keys().filter(|key| key.1 == TenantId::from_bits(tenant)).count();
        assert_eq!((of(1), of(2), of(3)), (MAX_KNOWN - 2, 1, 1));
    }
}
