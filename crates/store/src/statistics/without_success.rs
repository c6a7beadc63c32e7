//! Finds the targets with failed attempts that had no success at all. Both stores share the order of the
//! checks and the check.

use std::collections::{BTreeMap, HashMap};

use gancho_domain::{Figures, Lane, TenantId, Time};

use super::{FailingTarget, MAX_POINTS, Series, StatisticsPoint, StatisticsStep, StatisticsWindow};
use crate::TargetId;

/// What [`super::Statistics::targets_without_success`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithoutSuccessQuery {
    pub lane: Lane,
    /// Minutes that begin at or after this time.
    pub since: Time,
    /// Minutes that begin before this time.
    pub until: Time,
    /// Minimum attempts of a target.
    pub min_attempts: u64,
}

/// Maximum targets whose figures are read for one call.
pub const MAX_CHECKED: usize = 10_000;

/// Orders targets: the worst of each tenant, then the second of each, and so on. So no tenant hides another's
/// targets.
pub fn fair_order(failing: Vec<FailingTarget>) -> Vec<FailingTarget> {
    let mut by_tenant: BTreeMap<TenantId, Vec<FailingTarget>> = BTreeMap::new();
    for one in failing {
        by_tenant.entry(one.tenant).or_default().push(one);
    }
    let mut ranked = Vec::new();
    for targets in by_tenant.values_mut() {
        targets.sort_by_key(|one| (std::cmp::Reverse(one.failed_attempts), one.target));
        ranked.extend(targets.iter().copied().enumerate());
    }
    ranked.sort_by_key(|(rank, one)| (*rank, std::cmp::Reverse(one.failed_attempts)));
    ranked.into_iter().map(|(_, one)| one).collect()
}

impl WithoutSuccessQuery {
    pub fn window(&self) -> StatisticsWindow {
        let Self { since, until, .. } = *self;
        StatisticsWindow { step: StatisticsStep::Minute, since, until }
    }

    /// Returns the candidates in the order in which they are checked, in parts that fit into one read.
    pub fn parts(&self, failing: Vec<FailingTarget>) -> Vec<Vec<FailingTarget>> {
        let mut ordered = fair_order(failing);
        ordered.truncate(MAX_CHECKED);
        let size = (MAX_POINTS / self.window().points().max(1)).max(1);
        ordered.chunks(size).map(<[_]>::to_vec).collect()
    }

    pub fn series(&self, part: &[FailingTarget]) -> Vec<Series> {
        part.iter().map(|one| Series::of_target(one.tenant, one.target, self.lane)).collect()
    }

    /// Returns the targets of a part without a success, in the same order.
    pub fn check(&self, part: &[FailingTarget], points: &[StatisticsPoint]) -> Vec<FailingTarget> {
        let mut sums: HashMap<TargetId, Figures> = HashMap::new();
        for point in points {
            let Some(target) = point.series.target() else { continue };
            sums.entry(target).or_default().merge(&point.figures);
        }
        let checked = part.iter().filter_map(|one| {
            let sum = sums.get(&one.target)?;
            let is_found = sum.attempts >= self.min_attempts && sum.failed_attempts >= sum.attempts;
            is_found.then_some(FailingTarget { failed_attempts: sum.failed_attempts, ..*one })
        });
        checked.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_each_tenant_comes_first() {
        let one = |tenant, target, failed_attempts| FailingTarget {
            tenant: TenantId::from_bits(tenant),
            target: TargetId::from_bits(target),
            failed_attempts,
        };
        let ordered = fair_order(vec![one(1, 1, 90), one(1, 2, 99), one(2, 3, 5), one(1, 4, 80)]);
        assert_eq!(ordered, [one(1, 2, 99), one(2, 3, 5), one(1, 1, 90), one(1, 4, 80)]);
    }
}
