//! Pauses are stored until they are lifted.

use gancho_domain::Lane;

use super::{
    Fixture,
    build::{World, ids, secs, sorted},
};
use crate::Pause;

pub async fn a_pause_is_listed_until_it_is_lifted<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let store = &world.store;
    assert_eq!(store.pauses().await, Ok(vec![]));
    let all = vec![
        Pause::Lane(Lane::Webhook),
        Pause::Lane(Lane::Email),
        Pause::Tenant(acme),
        Pause::Endpoint(acme, shop),
        Pause::Endpoint(globex, shop),
    ];
    for what in &all {
        assert_eq!(store.pause(*what, world.now()).await, Ok(()));
    }
    assert_eq!(sorted(store.pauses().await.unwrap()), sorted(all.clone()));

    let world = world.reopen().await;
    let mut left = all.clone();
    for what in all {
        assert_eq!(sorted(world.store.pauses().await.unwrap()), sorted(left.clone()));
        assert_eq!(world.store.resume(what).await, Ok(()));
        left.retain(|paused| *paused != what);
    }
    assert_eq!(world.store.pauses().await, Ok(vec![]));
}

pub async fn twice_is_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    let what = Pause::Lane(Lane::Email);
    for _ in 0..2 {
        assert_eq!(store.pause(what, world.now()).await, Ok(()));
        assert_eq!(store.pauses().await, Ok(vec![what]));
        world.pass(secs(1));
    }
    for _ in 0..2 {
        assert_eq!(store.resume(what).await, Ok(()));
        assert_eq!(store.pauses().await, Ok(vec![]));
    }
}

/// The store only records a pause; the caller of a claim skips what is paused.
pub async fn a_pause_takes_nothing_out_of_the_store<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 2).await;
    let what = Pause::Tenant(acme);
    world.store.pause(what, world.now()).await.unwrap();
    assert_eq!(world.depth(Lane::Webhook).await.pending, 2);
    world.store.resume(what).await.unwrap();
    assert_eq!(ids(&world.take_all().await), made);
}
