//! A claim takes turns: no tenant's backlog hides another's work.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Fixture,
    build::{World, ids, secs},
};
use crate::Claim;

pub async fn one_delivery_is_not_hidden_by_twenty_thousand<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    for _ in 0..4 {
        world.many_due(acme, world.target(), 5_000).await;
    }
    world.pass(secs(60));
    let lonely = world.due(globex, world.target()).await;
    let claim = Claim { max: 100, per_target: 10, per_tenant: 50, ..world.claim() };
    let claimed = world.take(claim).await;
    assert!(ids(&claimed.jobs).contains(&lonely), "in the first claim");
    assert!(claimed.jobs.len() > 1, "the backlog is served too");
    assert!(claimed.more);
}

pub async fn a_backlog_of_one_target_does_not_hide_another<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    // One target sorts before the busy one, one after it.
    let [before, busy, after] = [world.target(), world.target(), world.target()];
    world.many_due(acme, busy, 2_000).await;
    world.pass(secs(60));
    let lonely = [world.due(acme, before).await, world.due(acme, after).await];
    let mut claim = Claim { max: 20, per_target: 5, per_tenant: 10, ..world.claim() };
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let claimed = world.take(claim.clone()).await;
        seen.extend(ids(&claimed.jobs));
        claim.cursor = claimed.cursor;
    }
    for id in lonely {
        assert!(seen.contains(&id), "within three claims");
    }
}

pub async fn the_round_reaches_every_tenant_before_anyone_twice<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut waiting = BTreeSet::new();
    for tenant in world.tenants_of_a_round(10).await {
        world.many_due(tenant, world.target(), 10).await;
        waiting.insert(tenant);
    }
    let mut claim = Claim { max: 3, per_target: 1, per_tenant: 1, ..world.claim() };
    for _ in 0..4 {
        let claimed = world.take(claim.clone()).await;
        assert!(!claimed.jobs.is_empty());
        for job in claimed.jobs {
            let first = waiting.remove(&job.tenant);
            assert!(first || waiting.is_empty(), "{} comes twice", job.tenant);
        }
        claim.cursor = claimed.cursor;
    }
    assert!(waiting.is_empty(), "four claims of three serve ten");
}

pub async fn the_round_reaches_every_target_of_a_tenant<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let mut waiting = BTreeSet::new();
    for _ in 0..10 {
        let target = world.target();
        world.many_due(acme, target, 20).await;
        waiting.insert(target);
    }
    world.many_due(globex, world.target(), 50).await;
    let mut claim = Claim { max: 4, per_target: 1, per_tenant: 3, ..world.claim() };
    for _ in 0..8 {
        let claimed = world.take(claim.clone()).await;
        for job in claimed.jobs {
            waiting.remove(&job.target);
        }
        claim.cursor = claimed.cursor;
    }
    assert!(waiting.is_empty(), "never served: {waiting:?}");
}

pub async fn the_round_goes_on_from_the_start_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut tenants = Vec::new();
    for _ in 0..6 {
        tenants.push((world.tenant().await, world.target()));
    }
    for (tenant, target) in &tenants {
        world.many_due(*tenant, *target, 1).await;
    }
    let mut claim = Claim { max: 4, ..world.claim() };
    claim.cursor = world.take(claim.clone()).await.cursor;
    // Every tenant that the cursor has passed gets new work, and so does the last.
    for (tenant, target) in &tenants {
        world.many_due(*tenant, *target, 1).await;
    }
    let mut served = BTreeMap::new();
    for _ in 0..4 {
        let claimed = world.take(claim.clone()).await;
        for job in claimed.jobs {
            *served.entry(job.tenant).or_insert(0) += 1;
        }
        claim.cursor = claimed.cursor;
    }
    assert_eq!(served.values().sum::<i32>(), 8, "2 left and 6 new");
    assert_eq!(served.len(), 6);
}

pub async fn three_hundred_tenants_are_served_without_idle_claims<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut made = BTreeSet::new();
    let mut drafts = Vec::new();
    for n in 0..300 {
        let (tenant, target) = (world.tenant().await, world.target());
        for _ in 0..=n % 5 {
            let draft = world.event(tenant).to(target);
            made.insert(draft.delivery(0));
            drafts.push(draft);
        }
    }
    world.accept_all(drafts).await;

    let mut claim = Claim { max: 100, per_target: 5, per_tenant: 5, ..world.claim() };
    let needed = made.len().div_ceil(claim.max);
    let mut seen = BTreeSet::new();
    for _ in 0..needed + 3 {
        let claimed = world.take(claim.clone()).await;
        for id in ids(&claimed.jobs) {
            assert!(seen.insert(id), "{id} is claimed twice");
        }
        claim.cursor = claimed.cursor;
    }
    assert_eq!(seen, made);
}

/// A tenant that was deleted, or never existed, does not stop the round.
pub async fn a_cursor_that_points_nowhere_is_no_trouble<F: Fixture>() {
    let world = World::<F>::new().await;
    let before = world.id();
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let after = world.id();
    for tenant in [before, after] {
        let mut claim = world.claim();
        claim.cursor.tenant = Some(tenant);
        claim.cursor.targets.insert(tenant, world.target());
        claim.cursor.targets.insert(acme, world.target());
        let (jobs, _) = world.take_until_done(claim).await;
        assert_eq!(ids(&jobs), [id]);
        let held = vec![(acme, id).into()];
        world.store.release(world.node, held).await.unwrap();
    }
}
