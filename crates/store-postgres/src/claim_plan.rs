//! Plans the turns of a claim in memory if all due deliveries are known. The turns are the same as those of
//! the walk.

use std::collections::{BTreeMap, BTreeSet};

use gancho_domain::TenantId;
use gancho_store::{Claim, ClaimCursor, ClaimTurn, Job, TargetId};

#[derive(Debug, Default)]
pub(crate) struct ClaimPlan {
    /// What to take before the turns. There may be less.
    pub first: Vec<TargetShare>,
    /// What to take, in the order of the turns.
    pub takes: Vec<TargetShare>,
    pub cursor: ClaimCursor,
    /// Whether a whole round leaves nothing, if all of the plan can be taken.
    pub caught_up: bool,
    /// Whether every tenant has had its turn.
    pub ends_lap: bool,
    /// The tenants that leave something due.
    pub left: BTreeSet<TenantId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetShare {
    pub tenant: TenantId,
    pub target: TargetId,
    pub max: usize,
}

impl ClaimPlan {
    pub(crate) fn total(&self) -> usize {
        total(&self.takes)
    }

    /// Whether these are fewer than planned, apart from what is taken before the turns.
    pub(crate) fn falls_short(&self, jobs: &[Job]) -> bool {
        let first: BTreeSet<_> = self.first.iter().map(TargetShare::key).collect();
        let in_turn = jobs.iter().filter(|job| !first.contains(&(job.tenant, job.target)));
        in_turn.count() < self.total()
    }

    /// Notes that something that was planned or seen is left.
    pub(crate) fn leave(&mut self) {
        self.caught_up = false;
        self.cursor.round = None;
        self.left.extend(self.takes.iter().map(|take| take.tenant));
    }
}

impl TargetShare {
    pub(crate) fn key(&self) -> (TenantId, TargetId) {
        (self.tenant, self.target)
    }
}

pub(crate) fn total(shares: &[TargetShare]) -> usize {
    shares.iter().map(|share| share.max).sum()
}

/// The number of due deliveries by tenant and target.
type DueCounts = BTreeMap<TenantId, BTreeMap<TargetId, usize>>;

/// Plans a claim. `due` is everything that is due and not skipped.
pub(crate) fn plan(claim: &Claim, due: impl Iterator<Item = (TenantId, TargetId)>) -> ClaimPlan {
    let due = count(due);
    let mut cursor = claim.cursor.clone();
    (cursor.round, cursor.lap) = (None, None);
    if let Some(ClaimTurn { tenant, at: Some(at), .. }) = cursor.turn.take() {
        cursor.targets.insert(tenant, at);
    }
    let mut plan = ClaimPlan { cursor, caught_up: true, ends_lap: true, ..ClaimPlan::default() };
    for (tenant, targets) in in_turn(&due, claim.cursor.tenant) {
        serve(&mut plan, claim, *tenant, targets);
    }
    plan
}

fn serve(
    plan: &mut ClaimPlan,
    claim: &Claim,
    tenant: TenantId,
    targets: &BTreeMap<TargetId, usize>,
) {
    let start = plan.cursor.targets.remove(&tenant);
    let mut turn = claim.per_tenant.max(1);
    let mut last = start;
    for (target, due) in in_turn(targets, start) {
        let room = turn.min(claim.max - plan.total());
        let max = claim.share(*target).min(room).min(*due);
        if max < *due {
            plan.caught_up = false;
            plan.left.insert(tenant);
        }
        if room == 0 {
            // The rest of the tenant's targets is served in the next round.
            plan.cursor.targets.extend(last.map(|last| (tenant, last)));
            return;
        }
        plan.takes.push(TargetShare { tenant, target: *target, max });
        plan.cursor.tenant = Some(tenant);
        turn -= max;
        last = Some(*target);
    }
}

/// Returns the entries after `start`, then those up to it.
fn in_turn<K: Ord + Copy, V>(
    map: &BTreeMap<K, V>,
    start: Option<K>,
) -> impl Iterator<Item = (&K, &V)> {
    let after = move |key: &K| start.is_none_or(|start| *key > start);
    map.iter()
        .filter(move |(key, _)| after(key))
        .chain(map.iter().filter(move |(key, _)| !after(key)))
}

/// Plans what is taken before the turns.
pub(crate) fn first(claim: &Claim) -> Vec<TargetShare> {
    let mut room = claim.max_first();
    let mut shares = Vec::new();
    for &(tenant, target) in &claim.first {
        let max = claim.share(target).min(room);
        if max > 0 && !claim.skip.covers(tenant, target) {
            shares.push(TargetShare { tenant, target, max });
            room -= max;
        }
    }
    shares
}

/// Adds targets that the walk did not reach, within the same shares. The cursor stays where the walk left it.
/// Returns whether any of them has more.
pub(crate) fn add(
    plan: &mut ClaimPlan,
    claim: &Claim,
    due: impl Iterator<Item = (TenantId, TargetId)>,
) -> bool {
    let mut left = false;
    let mut turns: BTreeMap<TenantId, usize> = BTreeMap::new();
    for take in &plan.takes {
        *turns.entry(take.tenant).or_default() += take.max;
    }
    for (tenant, targets) in count(due) {
        let turn = turns.entry(tenant).or_default();
        for (target, due) in targets {
            let known =
                plan.takes.iter().chain(&plan.first).any(|take| take.key() == (tenant, target));
            let room = claim.max.saturating_sub(plan.total() + total(&plan.first));
            let room = room.min(claim.per_tenant.max(1).saturating_sub(*turn));
            let max = claim.share(target).min(room).min(due);
            if max > 0 && !known {
                plan.takes.push(TargetShare { tenant, target, max });
                *turn += max;
                left |= max < due;
            }
        }
    }
    left
}

fn count(due: impl Iterator<Item = (TenantId, TargetId)>) -> DueCounts {
    let mut counted = DueCounts::new();
    for (tenant, target) in due {
        *counted.entry(tenant).or_default().entry(target).or_default() += 1;
    }
    counted
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gancho_domain::{Id, Lane, Time};
    use gancho_store::NodeId;

    use super::*;

    fn claim(max: usize, per_target: usize, per_tenant: usize) -> Claim {
        Claim {
            node: NodeId(1),
            lane: Lane::Webhook,
            now: Time::ZERO,
            max,
            max_bytes: 1,
            per_target,
            per_proven: per_target,
            per_tenant,
            proven: Arc::default(),
            skip: Arc::default(),
            first: Vec::new(),
            cursor: ClaimCursor::default(),
        }
    }

    fn due(list: &[(u128, u128)]) -> impl Iterator<Item = (TenantId, TargetId)> {
        list.iter().map(|(tenant, target)| (Id::from_bits(*tenant), Id::from_bits(*target)))
    }

    fn taken(plan: &ClaimPlan) -> Vec<(u128, u128, usize)> {
        let bits = |take: &TargetShare| (take.tenant.bits(), take.target.bits(), take.max);
        plan.takes.iter().map(bits).collect()
    }

    #[test]
    fn shares_are_kept_and_the_rest_is_more() {
        let list = [(1, 1), (1, 1), (1, 1), (1, 2), (1, 3), (2, 4)];
        let plan = plan(&claim(10, 2, 3), due(&list));
        assert_eq!(taken(&plan), [(1, 1, 2), (1, 2, 1), (2, 4, 1)]);
        assert!(!plan.caught_up);
        assert_eq!(plan.cursor.tenant, Some(Id::from_bits(2)));
        assert_eq!(plan.cursor.targets, [(Id::from_bits(1), Id::from_bits(2))].into());
    }

    #[test]
    fn the_round_goes_on_where_it_stopped() {
        let list = [(1, 1), (1, 2), (1, 3), (2, 4), (3, 5)];
        let mut claim = claim(10, 1, 2);
        claim.cursor.tenant = Some(Id::from_bits(2));
        claim.cursor.targets.insert(Id::from_bits(1), Id::from_bits(2));
        let plan = plan(&claim, due(&list));
        assert_eq!(taken(&plan), [(3, 5, 1), (1, 3, 1), (1, 1, 1), (2, 4, 1)]);
        assert_eq!(plan.cursor.targets, [(Id::from_bits(1), Id::from_bits(1))].into());
    }

    #[test]
    fn all_of_it_leaves_nothing() {
        let plan = plan(&claim(10, 10, 10), due(&[(1, 1), (1, 2)]));
        assert_eq!(plan.total(), 2);
        assert!(plan.caught_up && plan.cursor.targets.is_empty());
    }

    #[test]
    fn what_the_walk_missed_is_added_within_the_shares() {
        let (tenant, target) = (Id::from_bits(1), Id::from_bits(1));
        let mut plan = ClaimPlan {
            takes: vec![TargetShare { tenant, target, max: 2 }],
            ..ClaimPlan::default()
        };
        let left =
            add(&mut plan, &claim(5, 2, 3), due(&[(1, 1), (1, 2), (1, 2), (2, 3), (3, 4), (3, 5)]));
        assert_eq!(taken(&plan), [(1, 1, 2), (1, 2, 1), (2, 3, 1), (3, 4, 1)]);
        assert!(left);
    }
}
