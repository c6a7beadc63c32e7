//! A stored event is sent to more targets.

use std::sync::Arc;

use gancho_domain::{DeliveryId, EventId, Lane, State, TenantId};

use super::{
    Fixture,
    build::{World, hours, ids, placed, scope, secs},
};
use crate::{NewDelivery, Placement, TargetId};

/// Accepts an event with one delivery, and delivers it.
async fn delivered<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    target: TargetId,
) -> (EventId, DeliveryId) {
    let draft = world.event(tenant).about("order-1").named("inv-1").to(target);
    let made = (draft.id(), draft.delivery(0));
    world.accept(draft).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    made
}

fn in_order<F: Fixture>(world: &World<F>, target: TargetId) -> NewDelivery {
    NewDelivery { in_order: true, ..world.to(target) }
}

pub async fn it_goes_to_a_new_target<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let (event, first) = delivered(&world, acme, shop).await;
    world.pass(secs(60));
    let new = world.to(crm);
    assert!(world.redeliver(acme, event, vec![new.clone()]).await);

    let job = world.take_one().await;
    assert_eq!((job.delivery, job.target, job.parcel.id), (new.id, crm, event));
    assert_eq!((job.number, job.attempts, job.in_order), (Some(1), 0, false));
    assert!(!job.is_replay);
    world.deliver(&job).await;
    let view = world.see_event(acme, event).await;
    let rows: Vec<_> = view.deliveries.iter().map(|row| (row.id, row.target, row.state)).collect();
    assert_eq!(
        rows,
        [(first, shop, State::Delivered), (new.id, crm, State::Delivered)],
        "both are the event's"
    );
    assert_eq!(world.see(acme, new.id).await.attempts.len(), 1);
    let named = crate::DeliveryFilter { external_id: Some("inv-1".into()), ..Default::default() };
    assert_eq!(world.list(acme, named).await.len(), 2);
}

pub async fn it_goes_to_the_same_target_once_more<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let (event, first) = delivered(&world, acme, shop).await;
    let before = world.see(acme, first).await;
    let new = world.to(shop);
    assert!(world.redeliver(acme, event, vec![new.clone()]).await);
    assert_eq!(ids(&world.take_all().await), [new.id]);
    assert_eq!(world.see(acme, first).await, before, "the first is as it was");
}

pub async fn one_that_matched_nothing_can_be_sent<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme);
    let event = draft.id();
    world.accept(draft).await;
    let new = [world.to(world.target()), world.to(world.target())];
    assert!(world.redeliver(acme, event, new.to_vec()).await);
    assert!(world.redeliver(acme, event, vec![]).await, "to no one more");
    let world = world.reopen().await;
    let view = world.see_event(acme, event).await;
    let found: Vec<_> = view.deliveries.iter().map(|row| row.id).collect();
    assert_eq!(found, [new[0].id, new[1].id]);
    assert_eq!(world.take_all().await.len(), 2);
}

pub async fn it_is_due_when_it_says_and_not_held<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (event, _) = delivered(&world, acme, world.target()).await;
    let later = NewDelivery {
        due_at: world.now() + secs(60),
        hold: true,
        lane: Lane::Webhook,
        ..world.to(world.target())
    };
    assert!(world.redeliver(acme, event, vec![later.clone()]).await);
    assert_eq!(world.see(acme, later.id).await.row.state, State::Pending);
    world.nothing_is_due().await;
    world.pass(secs(60));
    assert_eq!(world.take_one().await.delivery, later.id);
}

/// The second of three is in flight; the first, sent again, precedes the third.
pub async fn it_takes_its_turn_by_the_events_number<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let first = drafts[0].id();
    let made = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    let second = world.take_one().await;
    assert_eq!(second.delivery, made[1]);

    let again = [in_order(&world, shop), in_order(&world, shop)];
    assert!(world.redeliver(acme, first, again.to_vec()).await);
    assert_eq!(world.see(acme, again[0].id).await.row.state, State::Waiting);
    world.nothing_is_due().await;
    world.deliver(&second).await;
    for expected in [again[0].id, again[1].id, made[2]] {
        let job = world.take_one().await;
        assert_eq!(job.delivery, expected);
        assert!(job.in_order);
        world.deliver(&job).await;
    }
}

pub async fn with_nothing_in_its_way_it_goes_and_others_wait<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let (event, _) = delivered(&world, acme, shop).await;
    let again = in_order(&world, shop);
    let elsewhere = in_order(&world, crm);
    let loose = world.to(shop);
    let all = vec![again.clone(), elsewhere, loose];
    assert!(world.redeliver(acme, event, all).await);
    let next = world.event(acme).about("order-1").in_order_to(shop);
    let next_id = next.delivery(0);
    assert_eq!(placed(&world.accept(next).await), [Placement::Waiting]);
    let jobs = world.take_all().await;
    assert_eq!(jobs.len(), 3, "one target each, and one that asked for no order");
    for job in jobs {
        world.deliver(&job).await;
    }
    assert_eq!(world.take_one().await.delivery, next_id);
}

pub async fn asked_twice_it_goes_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (event, _) = delivered(&world, acme, world.target()).await;
    let [one, two] = [world.to(world.target()), world.to(world.target())];
    assert!(world.redeliver(acme, event, vec![one.clone()]).await);
    assert!(world.redeliver(acme, event, vec![one, two]).await);
    let jobs = world.take_all().await;
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        world.deliver(&job).await;
    }
    assert_eq!(world.see_event(acme, event).await.deliveries.len(), 3);
    world.nothing_is_due().await;
}

pub async fn one_that_is_not_there_is_not_sent<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let new = world.to(world.target());
    assert!(!world.redeliver(acme, world.id(), vec![new.clone()]).await);
    assert_eq!(world.find(acme, new.id).await, None);
    world.nothing_is_due().await;
}

/// Otherwise that of an old event would be expired as soon as it is sent.
pub async fn its_time_counts_from_when_it_was_sent<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let (event, _) = delivered(&world, acme, shop).await;
    world.pass(hours(48));
    let new = world.to(shop);
    assert!(world.redeliver(acme, event, vec![new.clone()]).await);
    let store = &world.store;
    let expired = store.expire(Lane::Webhook, world.now() - hours(24), 10, world.now()).await;
    assert_eq!(expired, Ok(Vec::new()));
    let row = world.see(acme, new.id).await.row;
    assert!(row.created_at <= world.now() && row.created_at > world.now() - secs(1), "{row:?}");
    let job = world.take_one().await;
    assert_eq!(job.created_at, row.created_at);
    assert_eq!(job.parcel.created_at, world.now() - hours(48), "the event's own stays");
}

pub async fn its_event_is_kept_until_it_has_ended<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let (event, first) = delivered(&world, acme, shop).await;
    let new = world.to(shop);
    assert!(world.redeliver(acme, event, vec![new.clone()]).await);
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 0);
    let job = world.take_one().await;
    world.deliver(&job).await;
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find_event(acme, event).await, None);
    for delivery in [first, new.id] {
        assert_eq!(world.find(acme, delivery).await, None, "gone with it");
    }
    assert!(!world.redeliver(acme, event, vec![world.to(shop)]).await);
}

pub async fn many_at_once_keep_their_order_and_none_is_lost<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let (event, _) = delivered(&world, acme, shop).await;
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..40 {
        let (store, node) = (Arc::clone(&world.store), world.node);
        let new = in_order(&world, shop);
        let draft = world.event(acme).about("order-1").in_order_to(shop);
        calls.spawn(async move {
            if n % 2 == 0 {
                assert_eq!(store.redeliver(scope(acme), event, vec![new]).await, Ok(true));
            } else {
                store.accept(vec![draft.done()], node).await.unwrap();
            }
        });
    }
    calls.join_all().await;
    assert_eq!(world.see_event(acme, event).await.deliveries.len(), 21);
    let mut went = Vec::new();
    for _ in 0..40 {
        // One at a time, in any order.
        let job = world.take_one().await;
        went.push(job.number);
        world.deliver(&job).await;
    }
    world.nothing_is_due().await;
    assert!(went[1..].is_sorted(), "{went:?}");
}
