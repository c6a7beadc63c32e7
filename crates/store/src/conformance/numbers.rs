//! Parcels of a subject are numbered from 1 without a gap.

use std::sync::Arc;

use super::{
    Fixture,
    build::{World, delivered, hours, number, secs, sorted},
};
use crate::{AcceptOutcome, DeadFilter, SettleOutcome, Settlement};

pub async fn a_subject_counts_from_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    for expected in 1..=5 {
        let accepted = world.accept(world.event(acme).about("order-1")).await;
        assert_eq!(number(&accepted), Some(expected));
    }
    let batch = (0..10).map(|_| world.event(acme).about("order-1"));
    let accepted = world.accept_all(batch.collect()).await;
    let numbers: Vec<_> = accepted.iter().filter_map(number).collect();
    assert_eq!(numbers, (6..=15).collect::<Vec<_>>());
}

pub async fn without_a_subject_there_is_no_number<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).to(world.target());
    let id = draft.id();
    assert_eq!(number(&world.accept(draft).await), None);
    assert_eq!(world.see_event(acme, id).await.number, None);
    assert_eq!(world.take_one().await.number, None);
}

/// faults.md E4: within one call, in whatever order a store numbers them.
pub async fn subjects_and_tenants_count_apart<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let accepted = world
        .accept_all(vec![
            world.event(acme).about("order-1"),
            world.event(acme).about("order-2"),
            world.event(globex).about("order-1"),
            world.event(acme).about("order-1"),
            world.event(acme).about(""),
            world.event(acme),
            world.event(acme).about(""),
        ])
        .await;
    let numbers: Vec<_> = accepted.iter().map(number).collect();
    let expected = [Some(1), Some(1), Some(1), Some(2), Some(1), None, Some(2)];
    assert_eq!(numbers, expected, "an empty subject is a subject");
}

/// `Order` and `order` are two subjects in every store, whatever its collation.
pub async fn subjects_are_compared_byte_by_byte<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let alike = [
        "order",
        "Order",
        "ORDER",
        "order ",
        " order",
        "ördér",
        "o\u{308}rde\u{301}r",
        "order\u{200b}",
        "%",
        "_",
        "order\\",
    ];
    let drafts = alike.iter().map(|subject| world.event(acme).about(subject));
    for accepted in world.accept_all(drafts.collect()).await {
        assert_eq!(number(&accepted), Some(1));
    }
    for subject in alike {
        let accepted = world.accept(world.event(acme).about(subject)).await;
        assert_eq!(number(&accepted), Some(2), "{subject:?}");
    }
}

pub async fn what_is_not_written_takes_no_number<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let keyed = |content| world.event(acme).about("order-1").once(1, content, until);
    let accepted = world
        .accept_all(vec![keyed(1), keyed(1), keyed(2), world.event(acme).about("order-1")])
        .await;
    assert_eq!(number(&accepted[0]), Some(1));
    assert!(matches!(accepted[1], AcceptOutcome::Again { .. }));
    assert!(matches!(accepted[2], AcceptOutcome::Clash { .. }));
    assert_eq!(number(&accepted[3]), Some(2));
}

/// Half of them name the subjects in the other order, and would deadlock if each took one and waited for the
/// other.
pub async fn fifty_at_once_leave_no_hole<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..50 {
        let (store, node) = (Arc::clone(&world.store), world.node);
        let mut subjects = ["order-1", "order-2"];
        subjects.rotate_left(call % 2);
        let batch = subjects.map(|subject| world.event(acme).about(subject).done());
        calls.spawn(async move {
            let answers = store.accept(batch.to_vec(), node).await.unwrap();
            let mut numbers = [0, 1].map(|place| number(&answers[place]).unwrap());
            numbers.rotate_left(call % 2);
            numbers
        });
    }
    let numbers = calls.join_all().await;
    for place in [0, 1] {
        let of_subject = numbers.iter().map(|pair| pair[place]).collect();
        assert_eq!(sorted::<u64>(of_subject), (1..=50).collect::<Vec<_>>());
    }
}

pub async fn settling_and_accepting_at_once_leave_no_hole<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 25).await;
    let mut calls = tokio::task::JoinSet::new();
    for job in world.take_all().await {
        let (store, node) = (Arc::clone(&world.store), world.node);
        let settlement = Settlement {
            follow: ["order-1", "order-2"]
                .map(|subject| world.event(acme).about(subject).done())
                .to_vec(),
            ..delivered(&job, world.now())
        };
        calls.spawn(async move {
            match &store.settle(node, vec![settlement]).await.unwrap()[0] {
                SettleOutcome::Done { follow } => [number(&follow[0]), number(&follow[1])],
                SettleOutcome::LeaseLost => panic!("the lease is held"),
            }
        });
        let store = Arc::clone(&world.store);
        let batch = ["order-2", "order-1"].map(|subject| world.event(acme).about(subject).done());
        calls.spawn(async move {
            let answers = store.accept(batch.to_vec(), node).await.unwrap();
            [number(&answers[1]), number(&answers[0])]
        });
    }
    let numbers = calls.join_all().await;
    for place in [0, 1] {
        let of_subject = numbers.iter().filter_map(|pair| pair[place]).collect();
        assert_eq!(sorted::<u64>(of_subject), (1..=50).collect::<Vec<_>>());
    }
}

pub async fn the_number_shows_wherever_the_parcel_does<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.accept(world.event(acme).about("order-1")).await;
    let second = world.event(acme).about("order-1").to(world.target());
    let (event, delivery) = (second.id(), second.delivery(0));
    world.accept(second).await;
    assert_eq!(world.see_event(acme, event).await.number, Some(2));
    assert_eq!(world.see(acme, delivery).await.number, Some(2));
    assert_eq!(world.take_one().await.number, Some(2));
}

pub async fn counting_goes_on_after_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.accept(world.event(acme).about("order-1")).await;
    let world = world.reopen().await;
    let accepted = world.accept(world.event(acme).about("order-1")).await;
    assert_eq!(number(&accepted), Some(2));
}

/// A receiver that has seen number 1 would take a second number 1 for a duplicate. (faults.md 14)
pub async fn counting_goes_on_while_anything_of_the_subject_is_left<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let target = world.target();
    let about = |tenant| world.event(tenant).about("order-1");
    world.accept(about(acme)).await;
    let stays = about(acme).to(target);
    let stays_id = stays.delivery(0);
    world.accept_all(vec![stays, about(acme), about(globex)]).await;
    world.give_up(&world.take_one().await).await;
    world.pass(hours(24));
    assert_eq!(world.prune(world.now()).await, 3, "all but the one with a dead letter");
    assert_eq!(number(&world.accept(about(acme)).await), Some(4));
    assert_eq!(number(&world.accept(about(globex)).await), Some(1), "of globex nothing was left");
    world.pass(hours(24));
    assert_eq!(world.prune(world.now()).await, 2);
    assert_eq!(number(&world.accept(about(acme)).await), Some(5));

    let purged = world.store.purge_dead(DeadFilter::default(), 10).await;
    assert_eq!(purged, Ok(1));
    world.pass(hours(24));
    assert_eq!(world.prune(world.now()).await, 2);
    assert_eq!(world.find(acme, stays_id).await, None);
    assert_eq!(number(&world.accept(about(acme)).await), Some(1), "now nothing is left");
}

pub async fn what_follows_a_settlement_is_numbered_too<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.due(acme, world.target()).await;
    world.accept(world.event(acme).about("order-1")).await;
    let job = world.take_one().await;
    world.pass(secs(1));

    let mut settlement = delivered(&job, world.now());
    settlement.follow = (0..2).map(|_| world.event(acme).about("order-1").done()).collect();
    let SettleOutcome::Done { follow } = world.settle(settlement).await else {
        panic!("the lease is held");
    };
    let numbers: Vec<_> = follow.iter().filter_map(number).collect();
    assert_eq!(numbers, [2, 3]);
}
