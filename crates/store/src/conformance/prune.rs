//! What has ended and is old goes; nothing else does.

use super::{
    Fixture,
    build::{Draft, World, hours, number, placed, secs},
};
use crate::{AcceptOutcome, DeadFilter};

pub async fn only_what_is_old_and_has_ended_goes<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let drafts = [
        world.event(acme).to(shop).to(crm),
        world.event(acme).to(shop),
        world.event(acme).to(shop).to(crm),
        world.event(acme).to(shop),
        world.event(acme),
    ];
    let [delivered, dead, half, pending, lonely] = drafts.each_ref().map(Draft::id);
    world.accept_all(drafts.to_vec()).await;
    for job in world.take_all().await {
        match job.parcel.id {
            id if id == dead => world.give_up(&job).await,
            id if id == half && job.target == crm => (),
            id if id == pending => world.retry_at(&job, world.now() + hours(90)).await,
            _ => world.deliver(&job).await,
        }
    }
    world.pass(secs(1));
    let limit = world.now();
    let young = world.event(acme);
    let young_id = young.id();
    world.accept(young).await;
    world.pass(hours(1));

    assert_eq!(world.prune(limit).await, 2);
    for (id, stays) in [
        (delivered, false),
        (lonely, false),
        (dead, true),
        (half, true),
        (pending, true),
        (young_id, true),
    ] {
        let found = world.find_event(acme, id).await;
        assert_eq!(found.is_some(), stays, "{id}");
    }
    assert_eq!(world.prune(limit).await, 0);
    let dead_letters = world.dead(DeadFilter::default()).await;
    assert_eq!(dead_letters.len(), 1);
}

pub async fn deliveries_and_attempts_go_with_their_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find(acme, id).await, None);
    let rows = world.list(acme, crate::DeliveryFilter::default()).await;
    assert_eq!(rows, []);
    world.nothing_is_due().await;
}

pub async fn no_more_go_than_asked<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    // One at the front that must stay: it must not stop the rest.
    let stays = world.due(acme, shop).await;
    assert_eq!(world.take_one().await.delivery, stays);
    world.many_due(acme, shop, 25).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    world.pass(hours(1));
    let now = world.now();
    let mut gone = 0;
    for _ in 0..10 {
        let pruned = world.store.prune(now, 10, now).await.unwrap();
        assert!(pruned.parcels <= 10);
        gone += pruned.parcels;
    }
    assert_eq!(gone, 25);
    assert!(world.find(acme, stays).await.is_some());
}

pub async fn a_purged_dead_letter_no_longer_keeps_its_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 0);
    let purged = world.store.purge_dead(DeadFilter::default(), 10).await;
    assert_eq!(purged, Ok(1));
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find(acme, id).await, None);
}

pub async fn one_that_is_replayed_stays<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.replay(DeadFilter::default(), 10).await;
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 0);
    let job = world.take_one().await;
    assert_eq!(job.delivery, id);
    world.deliver(&job).await;
    assert_eq!(world.prune(now).await, 1);
}

pub async fn keys_whose_time_is_over_are_forgotten<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let start = world.now();
    let short = world.event(acme).about("order-1").once(1, 1, start + hours(1));
    let long = world.event(acme).once(2, 1, start + hours(3));
    let long_id = long.id();
    // Made in the short key's time, but accepted after it: a key that was only out of date would
    // still count.
    let late = world.event(acme).about("order-1").once(1, 1, start + hours(1));
    world.accept_all(vec![short, long]).await;
    world.pass(hours(2));
    let now = world.now();
    assert_eq!(world.prune(now).await, 2);

    assert_eq!(number(&world.accept(late).await), Some(1), "nothing of the subject was left");
    let answer = world.accept(world.event(acme).once(2, 1, now + hours(1))).await;
    let first = AcceptOutcome::Again { first: long_id };
    assert_eq!(answer, first, "a key in its time outlives its parcel");
    world.pass(hours(2));
    let late = world.now();
    world.prune(late).await;
    let fresh = world.event(acme).once(2, 9, late + hours(1));
    assert_eq!(placed(&world.accept(fresh).await), []);
}
