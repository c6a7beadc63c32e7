//! Limits how many log lines a flood of failures writes: in each period, each target, each tenant and all of
//! them together may write a number of lines. Counts and reports what it suppresses.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use gancho_domain::{Gcra, Rate, TenantId, Time, fairness::PeriodShares};
use gancho_store::TargetId;
use parking_lot::Mutex;

/// Maximum lines about one target.
const PER_TARGET: Rate = Rate { count: 60, per: Duration::from_mins(1) };
/// Maximum lines about all targets together. Each tenant may use a share of them.
const PER_NODE: Rate = Rate { count: 1_000, per: Duration::from_secs(10) };
/// Maximum targets whose lines are counted separately. If there are more, targets that have used up none of
/// their lines are forgotten.
const MAX_TARGETS: usize = 10_000;

#[derive(Default)]
pub(crate) struct LogSampler(Mutex<State>);

struct State {
    /// Shares by tenant; lines without a tenant have a share too.
    shares: PeriodShares<Option<TenantId>>,
    shares_since: Time,
    targets: HashMap<TargetId, Gcra>,
    suppressed: BTreeMap<&'static str, u64>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            shares: PeriodShares::new(PER_NODE.count as usize),
            shares_since: Time::ZERO,
            targets: HashMap::new(),
            suppressed: BTreeMap::new(),
        }
    }
}

impl LogSampler {
    /// Whether a line about a tenant's target may be written now. If not, counts it under the name of its
    /// event.
    pub fn allows(
        &self,
        event: &'static str,
        about: Option<(TenantId, TargetId)>,
        now: Time,
    ) -> bool {
        let mut state = self.0.lock();
        let is_free = state.take(about, now);
        if !is_free {
            *state.suppressed.entry(event).or_default() += 1;
        }
        is_free
    }

    /// Returns how many lines of each event were suppressed since the last call.
    pub fn take_suppressed(&self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.0.lock().suppressed)
    }
}

impl State {
    fn take(&mut self, about: Option<(TenantId, TargetId)>, now: Time) -> bool {
        if now.since(self.shares_since) >= PER_NODE.per || now < self.shares_since {
            self.shares = PeriodShares::after(self.shares.owners(), PER_NODE.count as usize);
            self.shares_since = now;
        }
        let of_target = about.and_then(|(_, target)| self.targets.get(&target));
        let is_free = of_target.is_none_or(|gcra| gcra.free_at(PER_TARGET, now) <= now)
            && self.shares.take(about.map(|(tenant, _)| tenant));
        if let Some((_, target)) = about.filter(|_| is_free) {
            if self.targets.len() >= MAX_TARGETS {
                self.targets.retain(|_, gcra| !gcra.ahead(PER_TARGET, now).is_zero());
            }
            self.targets.entry(target).or_default().take(PER_TARGET, now);
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(1_000);

    #[expect(clippy::unnecessary_wraps, reason = "what `allows` takes")]
    fn about(tenant: u128, target: u128) -> Option<(TenantId, TargetId)> {
        Some((TenantId::from_bits(tenant), TargetId::from_bits(tenant << 32 | target)))
    }

    #[test]
    fn a_target_that_floods_does_not_hide_another() {
        let sampler = LogSampler::default();
        let written = (0..500).filter(|_| sampler.allows("failed", about(1, 1), NOW)).count();
        assert_eq!(written, 60);
        assert!(sampler.allows("failed", about(1, 2), NOW));
        assert_eq!(sampler.take_suppressed(), BTreeMap::from([("failed", 440)]));
        assert!(sampler.take_suppressed().is_empty());
        let later = NOW + Duration::from_secs(30);
        let written = (0..500).filter(|_| sampler.allows("failed", about(1, 1), later)).count();
        assert_eq!(written, 30);
    }

    #[test]
    fn many_targets_together_are_bounded() {
        let sampler = LogSampler::default();
        let targets = (0..30_000).map(|number| about(number, number));
        let written = targets.filter(|about| sampler.allows("failed", *about, NOW)).count();
        assert_eq!(written, 1_000);
        assert_eq!(sampler.take_suppressed()["failed"], 29_000);
    }

    #[test]
    fn tenants_whose_targets_all_fail_do_not_hide_another() {
        let sampler = LogSampler::default();
        let flood = |tenant, now| {
            let targets = (0..12_000).map(|target| about(tenant, target));
            targets.filter(|about| sampler.allows("failed", *about, now)).count()
        };
        assert_eq!(flood(1, NOW), 500);
        assert!(sampler.allows("failed", about(2, 1), NOW));
        for period in 1..4 {
            let now = NOW + PER_NODE.per * period;
            let written: usize = (10..60).map(|tenant| flood(tenant, now)).sum();
            assert!(written <= 1_000);
            if period > 1 {
                assert!((0..5).all(|line| sampler.allows("failed", about(2, line), now)));
            }
        }
    }
}
