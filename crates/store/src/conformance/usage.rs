//! A tenant's usage of its plan is counted, and never exceeds its limit.

use std::sync::Arc;

use super::{
    Fixture,
    build::{World, scope},
};
use crate::PlanCharge;

pub async fn what_fits_under_the_limit_is_granted<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let store = &world.store;
    assert_eq!(store.used(acme, "2026-11").await, Ok(0));
    for (count, limit, granted, used) in [
        (3, 10, 3, 3),
        (0, 10, 0, 3),
        (5, 10, 5, 8),
        (5, 10, 2, 10),
        (5, 10, 0, 10),
        (1, 11, 1, 11),
        // The limit was lowered below the usage.
        (1, 4, 0, 11),
        (7, u64::MAX, 7, 18),
    ] {
        let spent = store.spend(acme, "2026-11", count, limit).await;
        assert_eq!(spent, Ok(PlanCharge { granted, used }), "{count} of {limit}");
        assert_eq!(store.used(acme, "2026-11").await, Ok(used));
    }
    let spent = store.spend(acme, "2026-12", 5, 0).await;
    assert_eq!(spent, Ok(PlanCharge { granted: 0, used: 0 }), "a limit of nothing");
}

pub async fn what_is_given_back_can_be_spent_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let store = &world.store;
    assert_eq!(store.give_back(acme, "2026-11", 5).await, Ok(()));
    assert_eq!(store.used(acme, "2026-11").await, Ok(0), "nothing was spent");
    store.spend(acme, "2026-11", 10, 10).await.unwrap();
    assert_eq!(store.give_back(acme, "2026-11", 4).await, Ok(()));
    assert_eq!(store.used(acme, "2026-11").await, Ok(6));
    let spent = store.spend(acme, "2026-11", 10, 10).await;
    assert_eq!(spent, Ok(PlanCharge { granted: 4, used: 10 }));
    assert_eq!(store.give_back(acme, "2026-11", u64::MAX).await, Ok(()));
    assert_eq!(store.used(acme, "2026-11").await, Ok(0), "never below nothing");
}

pub async fn tenants_and_periods_count_apart<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let store = &world.store;
    for (tenant, period, count) in
        [(acme, "2026-11", 1), (acme, "2026-12", 2), (globex, "2026-11", 4)]
    {
        store.spend(tenant, period, count, 10).await.unwrap();
    }
    store.give_back(globex, "2026-12", 10).await.unwrap();
    let world = world.reopen().await;
    let used = async |tenant, period| world.store.used(tenant, period).await.unwrap();
    assert_eq!(used(acme, "2026-11").await, 1);
    assert_eq!(used(acme, "2026-12").await, 2);
    assert_eq!(used(globex, "2026-11").await, 4);
    assert_eq!(used(globex, "2026-12").await, 0);
}

pub async fn fifty_at_once_do_not_pass_the_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = Arc::clone(&world.store);
        calls.spawn(async move { store.spend(acme, "2026-11", 3, 100).await.unwrap() });
    }
    let spent = calls.join_all().await;
    assert!(spent.iter().all(|one| one.granted <= 3 && one.used <= 100), "{spent:?}");
    assert_eq!(spent.iter().map(|one| one.granted).sum::<u64>(), 100);
    assert_eq!(world.store.used(acme, "2026-11").await, Ok(100));
}
