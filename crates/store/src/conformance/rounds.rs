//! A claim scans a bounded number of targets; the round over all of them continues with the next claim,
//! whatever the numbers of tenants and targets.

use std::{collections::BTreeSet, sync::Arc};

use gancho_domain::{DeliveryId, Random, SeededRandom, TenantId};

use super::{
    Fixture,
    build::{World, hours, ids},
};
use crate::{Claim, ClaimCursor, ClaimExclusions, TargetId};

impl<F: Fixture> World<F> {
    /// Makes `targets` targets, each with a delivery that waits for an hour.
    async fn waiting(&self, tenant: TenantId, targets: usize) {
        let later = self.now() + hours(1);
        let drafts: Vec<_> =
            (0..targets).map(|_| self.event(tenant).to_at(self.target(), later)).collect();
        for batch in drafts.chunks(1_000) {
            self.accept_all(batch.to_vec()).await;
        }
    }

    /// Makes `count` targets, each with a delivery that is due now.
    async fn due_targets(&self, tenant: TenantId, count: usize) -> BTreeSet<TargetId> {
        let targets: Vec<_> = (0..count).map(|_| self.target()).collect();
        for batch in targets.chunks(1_000) {
            let drafts = batch.iter().map(|target| self.event(tenant).to(*target)).collect();
            self.accept_all(drafts).await;
        }
        targets.into_iter().collect()
    }

    fn claim_but(&self, skip: ClaimExclusions) -> Claim {
        let skip = Arc::new(skip);
        Claim { max: 256, per_target: 64, per_tenant: 64, skip, ..self.claim() }
    }

    /// Claims until a round is complete. Returns what was taken, claim by claim.
    async fn take_a_round(&self, claim: &mut Claim, max_claims: usize) -> Vec<Vec<DeliveryId>> {
        let mut taken = Vec::new();
        for _ in 0..max_claims {
            let claimed = self.take(claim.clone()).await;
            taken.push(ids(&claimed.jobs));
            claim.cursor = claimed.cursor;
            assert_eq!(claimed.more, !claimed.caught_up);
            if claimed.caught_up {
                return taken;
            }
            assert_eq!(claimed.next_due, None);
        }
        panic!("the round is not complete after {max_claims} claims");
    }
}

fn skip_tenant(tenant: TenantId) -> ClaimExclusions {
    ClaimExclusions { tenants: [tenant].into(), ..ClaimExclusions::default() }
}

fn skip_targets(targets: BTreeSet<TargetId>) -> ClaimExclusions {
    ClaimExclusions { targets, ..ClaimExclusions::default() }
}

/// faults.md 1: whichever of the three tenants sorts first.
pub async fn one_due_is_found_among_thousands_that_wait<F: Fixture>() {
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let world = World::<F>::new().await;
        let mut tenants = Vec::new();
        for _ in 0..3 {
            tenants.push(world.tenant().await);
        }
        let [crowded, paused, lonely] = order.map(|place: usize| tenants[place]);
        world.waiting(crowded, 3_000).await;
        world.many_due(paused, world.target(), 300).await;
        let due = world.due(lonely, world.target()).await;

        let mut claim = world.claim_but(skip_tenant(paused));
        let taken = world.take_a_round(&mut claim, 5).await;
        assert_eq!(taken.concat(), [due], "{order:?}");

        claim.skip = Arc::default();
        let back = world.take_a_round(&mut claim, 20).await.concat();
        assert_eq!(back.len(), 300, "the paused ones are claimed when they are resumed");
    }
}

/// faults.md 2: very many tenants with one target each, whose backlog is skipped.
pub async fn a_round_over_thousands_of_tenants_comes_to_its_end<F: Fixture>() {
    let world = World::<F>::new().await;
    let full = world.target();
    world.many_due(world.tenant().await, full, 257).await;
    let later = world.now() + hours(1);
    let waiting = (0..1_500).map(|_| world.event(world.id()).to_at(world.target(), later));
    world.accept_all(waiting.collect()).await;
    let due = world.due(world.tenant().await, world.target()).await;
    let mut claim = world.claim_but(skip_targets([full].into()));
    let taken = world.take_a_round(&mut claim, 3).await;
    assert_eq!(taken.concat(), [due]);
    let taken = world.take_a_round(&mut claim, 3).await;
    assert!(taken.concat().is_empty() && taken.len() > 1, "each claim budget at a part of them");
}

pub async fn thousands_of_skipped_targets_hide_no_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let first = world.due(acme, world.target()).await;
    let mut skipped = world.due_targets(acme, 1_700).await;
    let middle = world.due(acme, world.target()).await;
    skipped.extend(world.due_targets(acme, 1_600).await);
    let last = world.due(acme, world.target()).await;
    let other = world.due(globex, world.target()).await;

    let mut claim = world.claim_but(skip_targets(skipped.clone()));
    let taken = world.take_a_round(&mut claim, 6).await.concat();
    let taken: BTreeSet<_> = taken.into_iter().collect();
    assert_eq!(taken, [first, middle, last, other].into());

    // A target that is no longer skipped is found from any position in the round.
    let freed = skipped.pop_first().unwrap();
    claim.skip = Arc::new(skip_targets(skipped));
    claim.cursor.round = None;
    let taken = world.take_a_round(&mut claim, 6).await.concat();
    assert_eq!(taken.len(), 1);
    assert_eq!(world.see(acme, taken[0]).await.row.target, freed);
}

/// Ten thousand skipped targets cost no more than ten: a claim scans the same number of targets.
pub async fn a_claim_may_skip_ten_thousand_targets<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let skipped = world.due_targets(acme, 10_000).await;
    let healthy = world.due(acme, world.target()).await;
    let mut claim = world.claim_but(skip_targets(skipped));
    let taken = world.take_a_round(&mut claim, 13).await;
    assert_eq!(taken.concat(), [healthy]);
}

pub async fn a_round_that_left_something_is_not_complete<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, paused, globex] = [world.tenant().await, world.tenant().await, world.tenant().await];
    world.waiting(acme, 1_300).await;
    let busy = world.target();
    let mut left: BTreeSet<_> = world.many_due(acme, busy, 5).await.into_iter().collect();
    world.waiting(acme, 1_300).await;
    world.many_due(paused, world.target(), 300).await;
    world.waiting(globex, 400).await;

    let mut claim = Claim { per_target: 2, ..world.claim_but(skip_tenant(paused)) };
    for _ in 0..30 {
        let claimed = world.take(claim.clone()).await;
        for id in ids(&claimed.jobs) {
            assert!(left.remove(&id), "{id} is claimed twice");
        }
        claim.cursor = claimed.cursor;
        if claimed.caught_up {
            assert!(left.is_empty(), "{} are left", left.len());
            assert_eq!(claimed.next_due, Some(world.now() + hours(1)));
            return;
        }
    }
    panic!("the round never comes to its end");
}

/// Fault 0, after a restart: a claim takes from the targets that come first, not only from those whose turn it is, and
/// everything else has its turns as ever.
pub async fn what_comes_first_does_not_wait_for_its_turn<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex, paused] = [world.tenant().await, world.tenant().await, world.tenant().await];
    let mut left: BTreeSet<DeliveryId> = BTreeSet::new();
    for _ in 0..300 {
        left.extend(world.many_due(acme, world.target(), 2).await);
    }
    let (new, busy, held) = (world.target(), world.target(), world.target());
    left.extend(world.many_due(globex, new, 1).await);
    left.extend(world.many_due(globex, busy, 100).await);
    world.many_due(paused, held, 5).await;

    let first = vec![(paused, held), (globex, new), (acme, world.target()), (globex, busy)];
    let shares = Claim { max: 20, per_target: 9, ..world.claim_but(skip_tenant(paused)) };
    let mut claim = Claim { first, ..shares };
    let mut early = Vec::new();
    for claims in 0.. {
        assert!(claims < 100, "{} are left", left.len());
        let claimed = world.take(claim.clone()).await;
        assert!(claimed.jobs.len() <= claim.max);
        // With several databases, one of them has the first claim for itself.
        if claims < 2 {
            early.extend(claimed.jobs.iter().map(|job| (job.tenant, job.target)));
        }
        for id in ids(&claimed.jobs) {
            assert!(left.remove(&id), "{id} is claimed twice");
        }
        claim.cursor = claimed.cursor;
        if claimed.caught_up {
            break;
        }
    }
    assert!(left.is_empty(), "{} are left", left.len());
    assert!(early.contains(&(globex, new)) && early.contains(&(globex, busy)));
    assert!(early.iter().any(|(tenant, _)| *tenant == acme), "the turns have their part");
}

/// Long before a backlog is empty, claims have named its tenants, whether few or very many targets have
/// pending deliveries.
pub async fn a_lap_tells_who_has_something_left<F: Fixture>() {
    for waiting in [0, 1_500] {
        let world = World::<F>::new().await;
        let [large, small, absent] = [world.tenant().await, world.tenant().await, world.id()];
        world.many_due(large, world.target(), 2_000).await;
        world.many_due(small, world.target(), 40).await;
        world.waiting(world.tenant().await, waiting).await;
        let mut claim = world.claim_but(ClaimExclusions::default());
        for _ in 0..3 {
            let mut left = BTreeSet::new();
            for claims in 1.. {
                assert!(claims <= 8, "the lap never comes to its end");
                let claimed = world.take(claim.clone()).await;
                assert!(!claimed.caught_up);
                claim.cursor = claimed.cursor;
                left.extend(claimed.left);
                if claimed.ends_lap {
                    break;
                }
            }
            assert!(left.contains(&large) && !left.contains(&small) && !left.contains(&absent));
        }
        let taken = world.take_a_round(&mut claim, 200).await.concat();
        assert!(taken.len() > 1_000, "{} were left", taken.len());
        // Few are due, and all of them are seen: the lap is one claim.
        let few = world.many_due(large, world.target(), 100).await;
        let claimed = world.take(claim.clone()).await;
        assert!(claimed.ends_lap && claimed.left == [large].into(), "{:?}", claimed.left);
        claim.cursor = claimed.cursor;
        let rest = world.take_a_round(&mut claim, 5).await.concat();
        assert_eq!(claimed.jobs.len() + rest.len(), few.len());
    }
}

/// More tenants and targets than fit into a claim: some wait, some are due, some are skipped.
pub async fn whatever_the_numbers_a_round_takes_all_that_is_due<F: Fixture>() {
    for (seed, counts, max, per_tenant) in [
        (1, vec![1_200, 1, 700, 3, 400], 100, 30),
        (2, vec![1; 150], 7, 3),
        (3, vec![1_001, 999, 2], 50, 50),
    ] {
        let world = World::<F>::new().await;
        let random = SeededRandom::new(seed);
        let (mut wanted, mut skip) = (BTreeSet::new(), ClaimExclusions::default());
        for (place, count) in counts.into_iter().enumerate() {
            let tenant = world.tenant().await;
            let mut drafts = Vec::new();
            for _ in 0..count {
                let target = world.target();
                let due_at = world.now() + hours(random.next() % 2);
                let draft = world.event(tenant).to_at(target, due_at);
                if random.next().is_multiple_of(3) {
                    skip.targets.insert(target);
                } else if due_at == world.now() && place != 3 {
                    wanted.insert(draft.delivery(0));
                }
                drafts.push(draft);
            }
            if place == 3 {
                skip.tenants.insert(tenant);
            }
            world.accept_all(drafts).await;
        }
        let max_claims = wanted.len() / per_tenant.min(max) + 20;
        let mut claim = Claim { max, per_target: 2, per_tenant, ..world.claim_but(skip) };
        let taken = world.take_a_round(&mut claim, max_claims).await.concat();
        assert_eq!(taken.len(), wanted.len(), "none twice, seed {seed}");
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), wanted);

        // A walk from the very beginning finds the same: nothing.
        claim.cursor = ClaimCursor::default();
        assert!(world.take_a_round(&mut claim, 20).await.concat().is_empty());
    }
}
