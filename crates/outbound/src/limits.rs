//! The publish rate of a tenant. Each node counts in memory and allows its part of the rate.

use std::{collections::HashMap, time::Duration};

use gancho_domain::{Gcra, Rate, Tenant, TenantId, Time};
use parking_lot::{Mutex, RwLock};

#[derive(Default)]
pub struct PublishRates {
    /// The rate of tenants without their own. `None`: unlimited.
    default: RwLock<Option<Rate>>,
    used: Mutex<RateUsage>,
}

#[derive(Default)]
struct RateUsage {
    rate_states: HashMap<TenantId, Gcra>,
    /// Maximum tenants that are remembered. Beyond it, tenants that have published nothing recently are
    /// forgotten.
    max: usize,
}

/// The values of the `RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    pub limit: u32,
    pub remaining: u32,
    /// The time until the whole limit is available again.
    pub reset: Duration,
}

/// How many of the requested events are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateGrant {
    pub granted: u32,
    /// `None` for tenants without a limit.
    pub standing: Option<RateLimitStatus>,
    /// When the next event is allowed.
    pub retry_after: Duration,
}

/// Below this number of tenants, nothing is forgotten.
const REMEMBERED: usize = 10_000;

impl PublishRates {
    pub fn new(default: Option<Rate>) -> Self {
        Self { default: RwLock::new(default), used: Mutex::default() }
    }

    /// Changes the rate of tenants that have none of their own.
    pub fn set_default(&self, default: Option<Rate>) {
        *self.default.write() = default;
    }

    /// Takes up to `count` events from the rate, which `nodes` nodes share, including this one.
    pub(crate) fn take(&self, tenant: &Tenant, count: u32, nodes: u32, now: Time) -> RateGrant {
        let Some(rate) = tenant.publish_rate.or_else(|| *self.default.read()) else {
            return RateGrant { granted: count, standing: None, retry_after: Duration::ZERO };
        };
        let rate = rate.shared_by(nodes);
        let mut used = self.used.lock();
        used.make_room(rate, now);
        let state = used.rate_states.entry(tenant.id).or_default();
        let granted = state.take_up_to(rate, count, now);
        let standing = RateLimitStatus {
            limit: rate.count,
            remaining: state.left(rate, now),
            reset: state.ahead(rate, now),
        };
        let retry_after = state.free_at(rate, now).since(now);
        RateGrant { granted, standing: Some(standing), retry_after }
    }
}

impl RateUsage {
    /// Forgets idle tenants. The cost of a scan is amortized over the tenants that were added since the last
    /// one.
    fn make_room(&mut self, rate: Rate, now: Time) {
        if self.rate_states.len() < self.max.max(REMEMBERED) {
            return;
        }
        self.rate_states.retain(|_, state| !state.ahead(rate, now).is_zero());
        self.max = 2 * self.rate_states.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1_000_000);

    #[test]
    fn each_tenant_has_its_own() {
        let rates = PublishRates::new(Some(Rate { count: 2, per: Duration::from_secs(1) }));
        let [a, mut b] = [1, 2].map(|n| Tenant::new(TenantId::from_bits(n), n.to_string(), NOW));
        b.publish_rate = Some(Rate { count: 5, per: Duration::from_secs(1) });
        assert_eq!(rates.take(&a, 3, 1, NOW).granted, 2);
        let refused = rates.take(&a, 1, 1, NOW);
        assert_eq!((refused.granted, refused.retry_after), (0, Duration::from_millis(500)));
        let standing = refused.standing.unwrap();
        assert_eq!((standing.limit, standing.remaining), (2, 0));
        assert_eq!(standing.reset, Duration::from_secs(1));
        assert_eq!(rates.take(&b, 9, 1, NOW).granted, 5);
        assert_eq!(rates.take(&a, 9, 1, NOW + Duration::from_secs(9)).granted, 2);
    }

    #[test]
    fn nodes_have_a_part_of_it_each() {
        let rates = PublishRates::new(Some(Rate { count: 5, per: Duration::from_secs(1) }));
        let tenant = Tenant::new(TenantId::from_bits(1), "a", NOW);
        let first = rates.take(&tenant, 9, 2, NOW);
        assert_eq!((first.granted, first.standing.unwrap().limit), (3, 3));
        assert_eq!(first.retry_after, Duration::from_millis(400), "2.5 per second");
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let rates = PublishRates::new(None);
        let tenant = Tenant::new(TenantId::from_bits(1), "a", NOW);
        assert_eq!(rates.take(&tenant, 1_000, 1, NOW).granted, 1_000);
        assert!(rates.used.lock().rate_states.is_empty());
    }

    #[test]
    fn memory_does_not_grow_with_tenants() {
        let rates = PublishRates::new(Some(Rate { count: 1, per: Duration::from_secs(1) }));
        for n in 0..25_000_u64 {
            let now = NOW + Duration::from_secs(n);
            rates.take(&Tenant::new(TenantId::from_bits(n.into()), "a", now), 1, 1, now);
        }
        assert!(rates.used.lock().rate_states.len() <= REMEMBERED);
    }
}
