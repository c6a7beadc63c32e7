//! What a claim takes, and in which order.

use std::{sync::Arc, time::Duration};

use gancho_domain::Lane;

use super::{
    Fixture,
    build::{World, ids, secs, sorted},
};
use crate::{Claim, ClaimExclusions};

pub async fn only_what_is_due_is_taken<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let now = world.now();
    let drafts = [
        world.event(acme).to_at(shop, now - secs(1)),
        world.event(acme).to_at(shop, now),
        world.event(acme).to_at(shop, now + Duration::from_micros(1)),
    ];
    let [past, present, future] = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;

    assert_eq!(ids(&world.take_all().await), [past, present]);
    world.pass(Duration::from_micros(1));
    assert_eq!(ids(&world.take_all().await), [future]);
}

pub async fn only_the_lane_is_taken<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let target = world.target();
    for lane in Lane::ALL {
        world.accept(world.event(acme).in_lane(lane, target)).await;
    }
    for lane in Lane::ALL {
        let claim = Claim { lane, ..world.claim() };
        let (jobs, _) = world.take_until_done(claim).await;
        let lanes: Vec<_> = jobs.iter().map(|job| job.lane).collect();
        assert_eq!(lanes, [lane]);
    }
}

pub async fn the_longest_due_of_a_target_comes_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let start = world.now();
    let mut made = Vec::new();
    for step in 0..40_u64 {
        let due_at = start + secs(step * 17 % 40);
        let draft = world.event(acme).to_at(shop, due_at);
        made.push((due_at, draft.delivery(0)));
        world.accept(draft).await;
    }
    world.pass(secs(60));
    let by_due: Vec<_> = sorted(made).into_iter().map(|(_, id)| id).collect();

    let claim = Claim { max: 7, ..world.claim() };
    let first = world.take(claim.clone()).await;
    assert_eq!(ids(&first.jobs), by_due[..7]);
    let (rest, _) = world.take_until_done(claim).await;
    assert_eq!(ids(&rest), by_due[7..]);
}

pub async fn a_job_holds_all_that_is_needed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).about("order-1").named("inv-9").as_test();
    let draft = draft.in_order_to(shop);
    let (parcel, delivery) = (draft.parcel(), draft.delivery(0));
    world.accept(draft).await;
    world.pass(secs(5));

    let job = world.take_one().await;
    assert_eq!((job.delivery, job.tenant), (delivery, acme));
    assert_eq!((job.lane, job.target), (Lane::Webhook, shop));
    assert_eq!(*job.parcel, parcel);
    assert_eq!(job.number, Some(1));
    assert_eq!((job.attempts, job.attempts_before), (0, 0));
    assert!(job.in_order && !job.is_replay);
    assert_eq!(job.created_at, parcel.created_at);

    world.retry_at(&job, world.now()).await;
    let job = world.take_one().await;
    assert_eq!((job.attempts, job.attempts_before), (1, 0));
    assert_eq!(*job.parcel, parcel);
    assert_eq!(job.created_at, parcel.created_at);
}

pub async fn no_more_than_asked_for<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 25).await;
    let claim = Claim { max: 10, ..world.claim() };
    let claimed = world.take(claim.clone()).await;
    assert_eq!(claimed.jobs.len(), 10);
    assert!(claimed.more);
    let (rest, _) = world.take_until_done(claim).await;
    assert_eq!(rest.len(), 15);
}

/// Whether few or many deliveries are due.
pub async fn more_from_a_target_that_answers<F: Fixture>() {
    for each in [20, 60] {
        let world = World::<F>::new().await;
        let acme = world.tenant().await;
        let targets = [world.target(), world.target(), world.target()];
        for target in targets {
            world.many_due(acme, target, each).await;
        }
        let proven = Arc::new([targets[1]].into());
        let shares = Claim { max: 100, per_target: 2, per_proven: 15, proven, ..world.claim() };
        let claimed = world.take(shares).await;
        let of = |target| claimed.jobs.iter().filter(|job| job.target == target).count();
        assert_eq!(targets.map(of), [2, 15, 2], "{each} wait for each");
        assert!(claimed.more);
    }
}

pub async fn no_more_than_its_share_from_one_target<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    world.many_due(acme, shop, 20).await;
    world.many_due(acme, crm, 2).await;
    let claim = Claim { per_target: 3, ..world.claim() };
    let claimed = world.take(claim.clone()).await;
    let of = |target| claimed.jobs.iter().filter(move |job| job.target == target);
    assert_eq!((of(shop).count(), of(crm).count()), (3, 2));
    assert!(claimed.more, "17 are left");
    let (rest, _) = world.take_until_done(claim).await;
    assert_eq!(rest.len(), 17);
}

pub async fn no_more_than_its_share_from_one_tenant<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    for _ in 0..4 {
        world.many_due(acme, world.target(), 5).await;
    }
    world.many_due(globex, world.target(), 2).await;
    let claim = Claim { per_tenant: 6, ..world.claim() };
    let claimed = world.take(claim.clone()).await;
    let of = |tenant| claimed.jobs.iter().filter(move |job| job.tenant == tenant);
    assert_eq!((of(acme).count(), of(globex).count()), (6, 2));
    assert!(claimed.more, "14 are left");
    let (rest, _) = world.take_until_done(claim).await;
    assert_eq!(rest.len(), 14);
}

pub async fn no_more_bytes_than_asked_for_but_always_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = (0..12).map(|_| world.event(acme).body(vec![b'x'; 1_000]).to(shop));
    world.accept_all(drafts.collect()).await;

    let up_to = |max_bytes| Claim { max_bytes, ..world.claim() };
    let claimed = world.take(up_to(1)).await;
    assert_eq!(claimed.jobs.len(), 1, "one is always taken");
    assert!(claimed.more);
    let claimed = world.take(up_to(2_500)).await;
    assert!((2..=3).contains(&claimed.jobs.len()), "{claimed:?}");
    let (rest, _) = world.take_until_done(up_to(2_500)).await;
    assert_eq!(rest.len() + claimed.jobs.len() + 1, 12);
}

pub async fn the_skipped_are_passed_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let to_shop = world.many_due(acme, shop, 3).await;
    let to_crm = world.many_due(acme, crm, 3).await;
    let elsewhere = world.many_due(globex, world.target(), 3).await;
    let skipping = |tenants: &[_], targets: &[_]| Claim {
        skip: Arc::new(ClaimExclusions {
            tenants: tenants.iter().copied().collect(),
            targets: targets.iter().copied().collect(),
        }),
        ..world.claim()
    };

    let (jobs, _) = world.take_until_done(skipping(&[globex], &[shop])).await;
    assert_eq!(ids(&jobs), to_crm);
    let claimed = world.take(skipping(&[acme, globex], &[])).await;
    assert!(claimed.jobs.is_empty());
    assert!(!claimed.more, "a caller that claims again at once would spin");
    let (jobs, _) = world.take_until_done(skipping(&[acme], &[])).await;
    assert_eq!(ids(&jobs), elsewhere);
    assert_eq!(ids(&world.take_all().await), to_shop);
}

pub async fn when_nothing_is_left_the_next_is_foretold<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let soon = world.now() + secs(30);
    let (_, empty) = world.take_until_done(world.claim()).await;
    assert_eq!(empty.next_due, None);

    world.due(acme, shop).await;
    world.accept(world.event(acme).to_at(shop, soon + secs(30))).await;
    world.accept(world.event(acme).to_at(crm, soon)).await;
    let sooner_in_another_lane = world.event(acme).with(crm, |delivery| {
        delivery.lane = Lane::Email;
        delivery.due_at = soon - secs(10);
    });
    world.accept(sooner_in_another_lane).await;

    let (jobs, last) = world.take_until_done(world.claim()).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(last.next_due, Some(soon));
    world.pass(secs(30));
    let (jobs, last) = world.take_until_done(world.claim()).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(last.next_due, Some(soon + secs(30)));
}
