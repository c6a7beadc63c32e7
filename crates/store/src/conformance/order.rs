//! Strict order per subject: a delivery waits until the one before is delivered or dead.

use gancho_domain::State;

use super::{
    Fixture,
    build::{World, ids, placed, secs},
};
use crate::{Claim, Placement};

pub async fn the_second_waits_until_the_first_is_delivered<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let [first, second] = [0, 1].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let order = [first.delivery(0), second.delivery(0)];
    assert_eq!(placed(&world.accept(first).await), [Placement::Pending]);
    assert_eq!(placed(&world.accept(second).await), [Placement::Waiting]);

    let job = world.take_one().await;
    assert!(job.in_order);
    assert_eq!(job.delivery, order[0]);
    assert_eq!(world.see(acme, order[1]).await.row.state, State::Waiting);
    world.deliver(&job).await;
    let job = world.take_one().await;
    assert_eq!(job.delivery, order[1]);
    world.deliver(&job).await;
    world.nothing_is_due().await;
}

pub async fn the_second_moves_up_when_the_first_is_given_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let second = drafts[1].delivery(0);
    world.accept_all(drafts.to_vec()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(world.take_one().await.delivery, second);
}

pub async fn a_retry_of_the_first_keeps_the_second_waiting<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let order = [drafts[0].delivery(0), drafts[1].delivery(0)];
    world.accept_all(drafts.to_vec()).await;

    let job = world.take_one().await;
    world.retry_at(&job, world.now() + secs(60)).await;
    world.nothing_is_due().await;
    let third = world.event(acme).about("order-1").in_order_to(shop);
    assert_eq!(placed(&world.accept(third).await), [Placement::Waiting]);

    world.pass(secs(60));
    let job = world.take_one().await;
    assert_eq!(job.delivery, order[0]);
    world.deliver(&job).await;
    assert_eq!(world.take_one().await.delivery, order[1]);
}

pub async fn order_holds_within_one_batch<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = (0..3).map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let accepted = world.accept_all(drafts.collect()).await;
    assert_eq!(placed(&accepted[0]), [Placement::Pending]);
    assert_eq!(placed(&accepted[1]), [Placement::Waiting]);
    assert_eq!(placed(&accepted[2]), [Placement::Waiting]);
}

pub async fn without_a_subject_nothing_waits<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = (0..3).map(|_| world.event(acme).in_order_to(shop));
    for accepted in world.accept_all(drafts.collect()).await {
        assert_eq!(placed(&accepted), [Placement::Pending]);
    }
    let jobs = world.take_all().await;
    assert_eq!(jobs.len(), 3);
    for job in jobs {
        world.deliver(&job).await;
    }
}

pub async fn who_does_not_ask_for_order_does_not_wait<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let accepted = world
        .accept_all(vec![
            world.event(acme).about("order-1").in_order_to(shop),
            world.event(acme).about("order-1").to(shop),
        ])
        .await;
    assert_eq!(placed(&accepted[1]), [Placement::Pending]);
}

pub async fn others_are_not_in_the_way<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let accepted = world
        .accept_all(vec![
            world.event(acme).about("order-1").in_order_to(shop),
            world.event(acme).about("order-1").in_order_to(crm),
            world.event(acme).about("order-2").in_order_to(shop),
            world.event(globex).about("order-1").in_order_to(shop),
        ])
        .await;
    for answer in accepted {
        assert_eq!(placed(&answer), [Placement::Pending]);
    }
    assert_eq!(world.take_all().await.len(), 4);
}

pub async fn one_that_must_wait_is_not_held<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let held = || {
        world.event(acme).about("order-1").with(shop, |delivery| {
            delivery.in_order = true;
            delivery.hold = true;
        })
    };
    assert_eq!(placed(&world.accept(held()).await), [Placement::Leased]);
    assert_eq!(placed(&world.accept(held()).await), [Placement::Waiting]);
    world.nothing_is_due().await;
}

pub async fn once_all_have_ended_nobody_waits<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = || world.event(acme).about("order-1").in_order_to(shop);
    world.accept(draft()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    assert_eq!(placed(&world.accept(draft()).await), [Placement::Pending]);
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(placed(&world.accept(draft()).await), [Placement::Pending]);
}

pub async fn the_first_keeps_its_place_when_put_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let first = drafts[0].delivery(0);
    world.accept_all(drafts.to_vec()).await;

    world.take_one().await;
    world.store.release(world.node, vec![(acme, first).into()]).await.unwrap();
    let claim = Claim { node: world.join().await, ..world.claim() };
    assert_eq!(ids(&world.take_until_done(claim).await.0), [first]);
    world.rescue().await;
    assert_eq!(ids(&world.take_all().await), [first], "rescued");
}

pub async fn order_outlives_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    world.accept_all(drafts.to_vec()).await;
    world.take_one().await;

    let world = world.reopen().await;
    world.rescue().await;
    for draft in drafts {
        let job = world.take_one().await;
        assert_eq!(job.delivery, draft.delivery(0));
        assert!(job.in_order);
        world.deliver(&job).await;
    }
}

pub async fn turns_go_by_acceptance_and_not_by_id<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let first = world.event(acme).about("order-1").in_order_to(shop);
    // Nodes whose clocks differ create ids that are not in the order of acceptance.
    let [early, late] = [0, 1].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let order = [first.delivery(0), late.delivery(0), early.delivery(0)];
    for draft in [first, late, early] {
        world.accept(draft).await;
    }
    for delivery in order {
        let job = world.take_one().await;
        assert_eq!(job.delivery, delivery);
        world.deliver(&job).await;
    }
}
