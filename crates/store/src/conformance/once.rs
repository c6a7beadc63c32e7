//! Idempotency keys.

use std::{sync::Arc, time::Duration};

use gancho_domain::Time;

use super::{
    Fixture,
    build::{World, hours, number, placed},
};
use crate::{AcceptOutcome, Placement};

pub async fn the_same_key_and_content_is_the_same_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until).to(shop);
    let again = world.event(acme).once(1, 1, until).to(shop);
    let (first_id, again_id) = (first.id(), again.id());
    let delivery = again.delivery(0);

    assert_eq!(placed(&world.accept(first).await), [Placement::Pending]);
    world.pass(hours(23));
    let answer = world.accept(again).await;

    assert_eq!(answer, AcceptOutcome::Again { first: first_id });
    assert_eq!(world.find_event(acme, again_id).await, None);
    assert_eq!(world.find(acme, delivery).await, None);
    assert_eq!(world.take_all().await.len(), 1, "nothing else was written");
}

pub async fn the_same_key_with_another_content_is_a_clash<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until).to(shop);
    let other = world.event(acme).once(1, 2, until).to(shop);
    let (first_id, other_id) = (first.id(), other.id());
    world.accept(first).await;

    let clash = AcceptOutcome::Clash { first: first_id };
    assert_eq!(world.accept(other.clone()).await, clash);
    assert_eq!(world.accept(other).await, clash, "a clash leaves no trace");
    assert_eq!(world.find_event(acme, other_id).await, None);
    let again = world.event(acme).once(1, 1, until);
    let answer = world.accept(again).await;
    assert_eq!(answer, AcceptOutcome::Again { first: first_id });
    assert_eq!(world.take_all().await.len(), 1);
}

pub async fn a_key_counts_within_one_batch_too<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until);
    let id = first.id();

    let answers = world
        .accept_all(vec![
            first,
            world.event(acme).once(1, 1, until),
            world.event(acme).once(1, 2, until),
            world.event(acme).once(2, 1, until),
            world.event(acme).once(1, 1, until),
        ])
        .await;

    assert_eq!(placed(&answers[0]), []);
    assert_eq!(answers[1], AcceptOutcome::Again { first: id });
    assert_eq!(answers[2], AcceptOutcome::Clash { first: id });
    assert_eq!(placed(&answers[3]), []);
    assert_eq!(answers[4], AcceptOutcome::Again { first: id });
}

pub async fn a_key_whose_time_is_over_is_free<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until);
    let first_id = first.id();
    world.accept(first).await;

    world.pass(hours(24).checked_sub(Duration::from_micros(1)).unwrap());
    let last_moment = world.event(acme).once(1, 1, until + hours(24));
    let answer = world.accept(last_moment).await;
    assert_eq!(answer, AcceptOutcome::Again { first: first_id });

    world.pass(Duration::from_micros(1));
    world.prune(Time::ZERO).await;
    let next = world.event(acme).once(1, 2, until + hours(24));
    let next_id = next.id();
    assert_eq!(placed(&world.accept(next).await), []);
    let answer = world.accept(world.event(acme).once(1, 2, until)).await;
    assert_eq!(answer, AcceptOutcome::Again { first: next_id });
    let answer = world.accept(world.event(acme).once(1, 1, until)).await;
    assert_eq!(answer, AcceptOutcome::Clash { first: next_id });
    let early = world.see_event(acme, first_id).await;
    assert_eq!(early.parcel.id, first_id, "the earlier parcel stays");
}

/// faults.md 17: a key ends only at a time that upkeep has passed.
pub async fn a_clock_that_is_ahead_frees_no_key<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until);
    let first_id = first.id();
    world.accept(first).await;
    world.prune(Time::ZERO).await;
    let world = world.reopen().await;
    for _ in 0..3 {
        world.pass(hours(24 * 365));
        let answer = world.accept(world.event(acme).once(1, 1, until)).await;
        assert_eq!(answer, AcceptOutcome::Again { first: first_id });
    }
    let answer = world.accept(world.event(acme).once(1, 2, until)).await;
    assert_eq!(answer, AcceptOutcome::Clash { first: first_id });
    world.prune(Time::ZERO).await;
    let again = world.event(acme).once(1, 1, world.now() + hours(1));
    assert_eq!(placed(&world.accept(again).await), []);
}

pub async fn keys_are_each_tenants_own<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let until = world.now() + hours(24);
    let answers = world
        .accept_all(vec![
            world.event(acme).once(1, 1, until).about("order-1"),
            world.event(globex).once(1, 2, until).about("order-1"),
        ])
        .await;
    assert_eq!(number(&answers[0]), Some(1));
    assert_eq!(number(&answers[1]), Some(1));
}

pub async fn a_key_outlives_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let first = world.event(acme).once(1, 1, until);
    let id = first.id();
    world.accept(first).await;
    let world = world.reopen().await;
    let answer = world.accept(world.event(acme).once(1, 1, until)).await;
    assert_eq!(answer, AcceptOutcome::Again { first: id });
}

pub async fn fifty_at_once_make_one_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let until = world.now() + hours(24);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (store, node) = (Arc::clone(&world.store), world.node);
        let draft = world.event(acme).once(1, 1, until).to(shop);
        calls.spawn(async move {
            let id = draft.id();
            let answers = store.accept(vec![draft.done()], node).await.unwrap();
            (id, answers)
        });
    }
    let answers = calls.join_all().await;

    let is_new = |answer: &AcceptOutcome| matches!(answer, AcceptOutcome::New { .. });
    let made: Vec<_> = answers.iter().filter(|(_, all)| is_new(&all[0])).collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    let first = made[0].0;
    for (id, all) in &answers {
        assert_eq!(all.len(), 1);
        assert!(*id == first || all[0] == AcceptOutcome::Again { first });
    }
    assert_eq!(world.take_all().await.len(), 1);
}

/// Half of them name the keys in the other order, and would deadlock if each took one and waited for the
/// other.
pub async fn batches_that_share_keys_do_not_block_each_other<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..40_u8 {
        let (store, node) = (Arc::clone(&world.store), world.node);
        // Each pair of calls shares two keys of its own.
        let mut keys = [call / 2 * 2, call / 2 * 2 + 1];
        keys.rotate_left(usize::from(call % 2));
        let batch = keys.map(|key| world.event(acme).once(key, 1, until).done());
        calls.spawn(async move { store.accept(batch.to_vec(), node).await.unwrap() });
    }
    let answers = calls.join_all().await.concat();
    let is_new = |answer: &&AcceptOutcome| matches!(answer, AcceptOutcome::New { .. });
    assert_eq!(answers.iter().filter(is_new).count(), 40, "one for each key");
}
