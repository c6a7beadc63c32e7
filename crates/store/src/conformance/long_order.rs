//! Strict order over many deliveries, with failures and concurrency.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    Fixture,
    build::{World, delivered, ids, scope, secs},
};
use crate::Store;

pub async fn five_subjects_of_a_hundred_each_come_one_by_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let subjects = [0, 1, 2, 3, 4].map(|n| format!("order-{n}"));
    let mut left = BTreeMap::<String, Vec<_>>::new();
    for _ in 0..100 {
        let round = subjects.each_ref().map(|subject| {
            let draft = world.event(acme).about(subject).in_order_to(shop);
            let line = left.entry(subject.clone()).or_default();
            line.push(draft.delivery(0));
            draft
        });
        world.accept_all(round.to_vec()).await;
    }
    for line in left.values_mut() {
        line.reverse();
    }

    let mut rounds = 0;
    while left.values().any(|line| !line.is_empty()) {
        rounds += 1;
        assert!(rounds <= 200, "the order comes to a halt: {left:?}");
        let jobs = world.take_all().await;
        assert!(jobs.len() <= 5, "one of each subject: {:?}", ids(&jobs));
        for (place, job) in jobs.iter().enumerate() {
            let subject = job.parcel.subject.as_deref().unwrap();
            let line = left.get_mut(subject).unwrap();
            assert_eq!(line.last(), Some(&job.delivery), "{subject}");
            match (rounds + place) % 4 {
                0 if job.attempts < 2 => world.retry_at(job, world.now() + secs(1)).await,
                1 => {
                    world.give_up(job).await;
                    line.pop();
                }
                _ => {
                    world.deliver(job).await;
                    line.pop();
                }
            }
        }
        world.pass(secs(1));
    }
    world.nothing_is_due().await;
}

/// A delivery that is placed behind another at the moment when that one ends must not wait forever.
pub async fn none_is_left_behind_when_the_one_before_ends<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts: Vec<_> =
        (0..100).map(|_| world.event(acme).about("order-1").in_order_to(shop)).collect();
    let expected: Vec<_> = drafts.iter().map(|draft| draft.delivery(0)).collect();
    let (store, node) = (Arc::clone(&world.store), world.node);
    let accepting = tokio::spawn(async move {
        for draft in drafts {
            store.accept(vec![draft.done()], node).await.unwrap();
        }
    });

    let carry_all = async {
        let mut seen = Vec::new();
        while seen.len() < expected.len() {
            let jobs = world.take_all().await;
            assert!(jobs.len() <= 1, "one at a time: {:?}", ids(&jobs));
            for job in &jobs {
                world.deliver(job).await;
            }
            seen.extend(ids(&jobs));
            tokio::task::yield_now().await;
        }
        seen
    };
    let seen = tokio::time::timeout(Duration::from_mins(1), carry_all).await;
    assert_eq!(seen.expect("none is left behind"), expected);
    accepting.await.unwrap();
}

/// Ten settle at once, each the first of its subject, while others move up behind them.
pub async fn subjects_move_up_when_many_settle_at_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    for _ in 0..5 {
        let round = (0..10).map(|n| {
            let subject = format!("order-{n}");
            world.event(acme).about(&subject).in_order_to(shop)
        });
        world.accept_all(round.collect()).await;
    }
    for round in 1..=5 {
        let jobs = world.take_all().await;
        assert_eq!(jobs.len(), 10, "round {round}");
        let mut calls = tokio::task::JoinSet::new();
        for job in jobs {
            assert_eq!(job.number, Some(round));
            let (store, node, now) = (Arc::clone(&world.store), world.node, world.now());
            calls.spawn(settle_one(store, node, delivered(&job, now)));
        }
        calls.join_all().await;
    }
    world.nothing_is_due().await;
}

async fn settle_one(store: Arc<dyn Store>, node: crate::NodeId, settlement: crate::Settlement) {
    let settled = store.settle(node, vec![settlement]).await.unwrap();
    assert_eq!(settled, [super::build::DONE]);
}

/// The first is given up, so the second is sent; then the first is retried by hand. When it ends, the third
/// must still wait for the second.
pub async fn one_armed_again_lets_no_two_go_at_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts = [0, 1, 2].map(|_| world.event(acme).about("order-1").in_order_to(shop));
    let [first, second, third] = drafts.each_ref().map(|draft| draft.delivery(0));
    world.accept_all(drafts.to_vec()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let ahead = world.take_one().await;
    assert_eq!(ahead.delivery, second);

    let retried = world.store.retry_now(scope(acme), first, world.now()).await;
    assert_eq!(retried, Ok(crate::RetryOutcome::Due));
    let job = world.take_one().await;
    assert_eq!(job.delivery, first);
    world.deliver(&job).await;
    world.nothing_is_due().await;
    world.deliver(&ahead).await;
    assert_eq!(world.take_one().await.delivery, third);
}
