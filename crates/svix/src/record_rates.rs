//! How many records of requests each tenant may add. Without this, its idempotency keys could fill the store.

use std::{collections::HashMap, time::Duration};

use gancho_domain::{Gcra, Rate, TenantId, Time};
use parking_lot::Mutex;

/// Maximum records that the requests of one tenant add on a node.
pub const MAX_RECORDS: Rate = Rate { count: 10_000, per: Duration::from_hours(1) };
/// Below this number of tenants, nothing is forgotten.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct RecordRates(Mutex<RateUsage>);

#[derive(Default)]
struct RateUsage {
    rate_states: HashMap<TenantId, Gcra>,
    /// Maximum tenants that are remembered. Beyond it, those whose whole rate is free are forgotten.
    max: usize,
}

impl RecordRates {
    /// Takes one record from the tenant's rate. Returns how long to wait if it is used up.
    pub fn take(&self, tenant: TenantId, now: Time) -> Result<(), Duration> {
        let mut usage = self.0.lock();
        usage.make_room(now);
        let state = usage.rate_states.entry(tenant).or_default();
        let free_at = state.free_at(MAX_RECORDS, now);
        if free_at > now {
            return Err(free_at.since(now));
        }
        state.take(MAX_RECORDS, now);
        Ok(())
    }
}

impl RateUsage {
    fn make_room(&mut self, now: Time) {
        if self.rate_states.len() >= self.max.max(REMEMBERED) {
            self.rate_states.retain(|_, state| !state.ahead(MAX_RECORDS, now).is_zero());
            self.max = 2 * self.rate_states.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_rate_of_its_own() {
        let (rates, now) = (RecordRates::default(), Time::from_secs(1_000_000));
        let [one, other] = [1, 2].map(TenantId::from_bits);
        let taken = (0..20_000).filter(|_| rates.take(one, now).is_ok()).count();
        assert_eq!(taken, MAX_RECORDS.count as usize);
        let wait = rates.take(one, now).unwrap_err();
        assert_eq!(wait, MAX_RECORDS.per / MAX_RECORDS.count);
        assert_eq!(rates.take(other, now), Ok(()));
        assert_eq!(rates.take(one, now + wait), Ok(()));
    }

    #[test]
    fn idle_tenants_are_forgotten() {
        let rates = RecordRates::default();
        for number in 0..50_000_u32 {
            let now = Time::from_secs(1_000_000 + i64::from(number));
            assert_eq!(rates.take(TenantId::from_bits(u128::from(number)), now), Ok(()));
        }
        assert!(rates.0.lock().rate_states.len() <= REMEMBERED);
    }
}
