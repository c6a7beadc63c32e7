//! Deliveries that waited longer than their lane allows are given up.

use gancho_domain::{Code, DeliveryId, Lane, State};

use super::{
    Fixture,
    build::{World, hours, ids, secs},
};
use crate::EndedDelivery;

async fn expire<F: Fixture>(world: &World<F>, before: gancho_domain::Time, max: usize) -> u64 {
    let now = world.now();
    world.store.expire(Lane::Webhook, before, max, now).await.unwrap().len() as u64
}

async fn is_expired<F: Fixture>(world: &World<F>, id: DeliveryId) -> bool {
    let letter = world.dead_letter(id).await;
    letter.is_some_and(|letter| *letter.failure.code() == Code::EXPIRED)
}

pub async fn an_expired_one_is_a_dead_letter<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).about("order-1").to(shop);
    let (parcel, id) = (draft.parcel(), draft.delivery(0));
    world.accept(draft).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now() + hours(48)).await;
    world.pass(hours(24));
    let now = world.now();
    let ended = world.store.expire(Lane::Webhook, now, 10, now).await.unwrap();
    let (delivery, target) = (id, shop);
    let told = EndedDelivery {
        tenant: acme,
        delivery,
        parcel: parcel.id,
        target,
        attempts: 1,
        is_test: false,
        is_notice: false,
    };
    assert_eq!(ended, [told]);

    let row = world.see(acme, id).await.row;
    assert_eq!((row.state, row.attempts), (State::Dead, 1));
    assert_eq!(row.next_retry_at, None);
    let letter = world.dead_letter(id).await.unwrap();
    assert_eq!(*letter.failure.code(), Code::EXPIRED);
    assert!(!letter.failure.reason().trim().is_empty());
    assert_eq!(row.last_failure, Some(letter.failure));
    assert_eq!((letter.tenant, letter.target, letter.lane), (acme, shop, Lane::Webhook));
    assert_eq!((letter.parcel, letter.subject), (parcel.id, parcel.subject));
    assert_eq!(letter.original, parcel.body);
    assert_eq!(letter.failed_attempts, 1);
    assert_eq!(letter.enqueued_at, parcel.created_at);
    assert_eq!(letter.moved_at, world.now());
    assert_eq!(letter.expires_at, world.now() + hours(7 * 24));
    world.pass(hours(48));
    world.nothing_is_due().await;
}

pub async fn one_that_is_scheduled_has_its_time_from_then_on<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let at = world.now() + hours(48);
    let draft = world.event(acme).to_at(world.target(), at);
    let id = draft.delivery(0);
    world.accept(draft).await;
    world.pass(hours(47));
    assert_eq!(expire(&world, world.now() - hours(24), 10).await, 0, "it is not due yet");
    world.pass(hours(2));
    assert_eq!(expire(&world, world.now() - hours(24), 10).await, 0, "it has been due for an hour");
    world.pass(hours(24));
    assert_eq!(expire(&world, world.now() - hours(24), 10).await, 1);
    assert!(is_expired(&world, id).await);
}

pub async fn only_old_unfinished_ones_of_the_lane_expire<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let email = world.event(acme).in_lane(Lane::Email, shop);
    let email_id = email.delivery(0);
    world.accept(email).await;
    let made = world.many_due(acme, shop, 3).await;
    let jobs = world.take_all().await;
    world.deliver(&jobs[0]).await;
    world.give_up(&jobs[1]).await;
    let old = world.due(acme, shop).await;
    world.pass(secs(1));
    let limit = world.now();
    let young = world.due(acme, shop).await;
    world.pass(hours(1));

    assert_eq!(expire(&world, limit, 10).await, 1);
    assert!(is_expired(&world, old).await);
    for id in [email_id, made[0], made[1], made[2], young] {
        assert!(!is_expired(&world, id).await, "{id}");
    }
    world.deliver(&jobs[2]).await;
    assert_eq!(ids(&world.take_all().await), [young]);
}

pub async fn no_more_expire_than_asked<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 5).await;
    world.pass(hours(1));
    for expected in [2, 2, 1, 0] {
        assert_eq!(expire(&world, world.now(), 2).await, expected);
    }
    world.nothing_is_due().await;
}

pub async fn those_that_wait_expire_too<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let made = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;
    world.pass(hours(1));
    assert_eq!(expire(&world, world.now(), 10).await, 3);
    for id in made {
        assert!(is_expired(&world, id).await, "{id}");
    }
    let next = world.event(acme).about("order-1").in_order_to(shop);
    let next_id = next.delivery(0);
    world.accept(next).await;
    assert_eq!(ids(&world.take_all().await), [next_id], "the line is free");
}

pub async fn the_next_in_order_moves_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = || world.event(acme).about("order-1").in_order_to(shop);
    world.accept(draft()).await;
    world.pass(hours(1));
    let limit = world.now();
    let [second, third] = [draft(), draft()];
    let order = [second.delivery(0), third.delivery(0)];
    world.accept_all(vec![second, third]).await;

    assert_eq!(expire(&world, limit, 10).await, 1);
    let job = world.take_one().await;
    assert_eq!(job.delivery, order[0]);
    world.deliver(&job).await;
    assert_eq!(world.take_one().await.delivery, order[1]);
}

pub async fn one_that_expires_behind_another_leaves_the_line<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = || world.event(acme).about("order-1").in_order_to(shop);
    let [first, second] = [draft(), draft()];
    let old = second.delivery(0);
    world.accept_all(vec![first, second]).await;
    let job = world.take_one().await;
    world.pass(hours(1));
    let limit = world.now();
    let third = draft();
    let third_id = third.delivery(0);
    world.accept(third).await;

    assert_eq!(expire(&world, limit, 10).await, 1, "the first is in flight");
    assert!(is_expired(&world, old).await);
    world.nothing_is_due().await;
    world.deliver(&job).await;
    assert_eq!(world.take_one().await.delivery, third_id);
}

pub async fn one_that_is_replayed_does_not_expire_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let never_tried = world.due(acme, shop).await;
    world.pass(hours(24));
    assert_eq!(expire(&world, world.now(), 10).await, 1);
    let tried = world.due(acme, shop).await;
    let job = world.take_one().await;
    world.give_up(&job).await;

    assert_eq!(world.replay(crate::DeadFilter::default(), 10).await, 2);
    world.pass(hours(24));
    assert_eq!(expire(&world, world.now(), 10).await, 0);
    let mut due = ids(&world.take_all().await);
    due.sort_unstable();
    assert_eq!(due, [never_tried, tried]);
}
