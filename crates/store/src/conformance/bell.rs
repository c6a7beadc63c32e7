//! The bell rings when work becomes due, so that nobody has to poll all the time.
//!
//! It may ring without reason too, so a case only asserts when it must ring.

use std::time::Duration;

use super::{
    Fixture,
    build::{World, hours, scope, secs},
};
use crate::DeadFilter;

/// Waits until earlier rings have been received.
async fn quiet<F: Fixture>(world: &World<F>) {
    let bell = world.store.bell();
    while tokio::time::timeout(Duration::from_millis(100), bell.notified()).await.is_ok() {}
}

async fn rings<F: Fixture>(world: &World<F>) {
    let bell = world.store.bell();
    let heard = tokio::time::timeout(Duration::from_secs(5), bell.notified()).await;
    heard.expect("the bell rings");
}

pub async fn it_rings_for_a_due_delivery<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    quiet(&world).await;
    world.due(acme, world.target()).await;
    rings(&world).await;
}

pub async fn it_rings_for_one_armed_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let later = world.event(acme).to_at(shop, world.now() + hours(24));
    let id = later.delivery(0);
    world.accept(later).await;
    quiet(&world).await;
    let now = world.now();
    world.store.retry_now(scope(acme), id, now).await.unwrap();
    rings(&world).await;
}

pub async fn it_rings_for_a_replay<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    quiet(&world).await;
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    rings(&world).await;
}

pub async fn it_rings_for_one_that_moves_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    for _ in 0..2 {
        let draft = world.event(acme).about("order-1").in_order_to(shop);
        world.accept(draft).await;
    }
    let job = world.take_one().await;
    quiet(&world).await;
    world.pass(secs(1));
    world.deliver(&job).await;
    rings(&world).await;
}

pub async fn it_rings_for_one_sent_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme);
    let event = draft.id();
    world.accept(draft).await;
    quiet(&world).await;
    world.redeliver(acme, event, vec![world.to(world.target())]).await;
    rings(&world).await;
}
