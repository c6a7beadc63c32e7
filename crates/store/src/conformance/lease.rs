//! Only one node holds a claimed delivery, until it is settled, released or rescued.

use std::{collections::BTreeSet, sync::Arc};

use gancho_domain::State;

use super::{
    Fixture,
    build::{World, delivered, ids, secs},
};
use crate::{Claim, DeliveryRow, NodeId, SettleOutcome, Store};

pub async fn what_is_claimed_is_not_claimed_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    assert_eq!(ids(&world.take_all().await), [id]);
    world.pass(secs(3_600));
    world.nothing_is_due().await;
    let claim = Claim { node: world.join().await, ..world.claim() };
    assert!(world.take_until_done(claim).await.0.is_empty());
    assert_eq!(world.see(acme, id).await.row.state, State::Leased);
}

pub async fn two_nodes_share_a_backlog_without_overlap<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut made = BTreeSet::new();
    for _ in 0..4 {
        let tenant = world.tenant().await;
        for _ in 0..5 {
            made.extend(world.many_due(tenant, world.target(), 100).await);
        }
    }
    let claim = Claim { max: 64, per_target: 8, per_tenant: 24, ..world.claim() };
    let other = world.join().await;
    let takers = [world.node, other]
        .map(|node| tokio::spawn(take_all_as(Arc::clone(&world.store), node, claim.clone())));
    let mut seen = Vec::new();
    for taker in takers {
        seen.extend(taker.await.unwrap());
    }
    // A node may find rows locked by the other's claim, and stop early.
    seen.extend(ids(&world.take_all().await));

    assert_eq!(seen.len(), 2_000, "each is claimed once");
    assert_eq!(BTreeSet::from_iter(seen), made);
}

async fn take_all_as(
    store: Arc<dyn Store>,
    node: NodeId,
    mut claim: Claim,
) -> Vec<gancho_domain::DeliveryId> {
    claim.node = node;
    let mut seen = Vec::new();
    loop {
        let claimed = store.claim(claim.clone()).await.unwrap();
        seen.extend(ids(&claimed.jobs));
        if !claimed.more {
            return seen;
        }
        claim.cursor = claimed.cursor;
        tokio::task::yield_now().await;
    }
}

pub async fn what_is_put_back_is_as_it_was<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let early = world.due(acme, shop).await;
    world.pass(secs(10));
    let late = world.due(acme, shop).await;
    let before: Vec<DeliveryRow> =
        vec![world.see(acme, early).await.row, world.see(acme, late).await.row];
    assert_eq!(ids(&world.take_all().await), [early, late]);
    world.pass(secs(10));
    world.store.release(world.node, vec![(acme, late).into(), (acme, early).into()]).await.unwrap();

    assert_eq!(world.see(acme, early).await.row, before[0]);
    assert_eq!(world.see(acme, late).await.row, before[1]);
    let jobs = world.take_all().await;
    assert_eq!(ids(&jobs), [early, late], "due as they were");
    for job in jobs {
        assert_eq!((job.attempts, job.attempts_before), (0, 0));
    }
}

pub async fn only_the_holder_can_put_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    let other = world.join().await;
    for (node, tenant, delivery) in
        [(other, acme, id), (world.node, globex, id), (world.node, acme, world.id())]
    {
        let released = world.store.release(node, vec![(tenant, delivery).into()]).await;
        assert_eq!(released, Ok(()), "what is not held is passed over");
    }
    world.nothing_is_due().await;
    world.deliver(&job).await;
    world.store.release(world.node, vec![(acme, id).into()]).await.unwrap();
    assert_eq!(world.see(acme, id).await.row.state, State::Delivered);
}

pub async fn one_that_was_put_back_is_settled_by_who_takes_it_next<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.store.release(world.node, vec![(acme, id).into()]).await.unwrap();
    let other = world.join().await;
    let claim = Claim { node: other, ..world.claim() };
    assert_eq!(ids(&world.take_until_done(claim).await.0), [id]);

    let now = world.now();
    assert_eq!(world.settle(delivered(&job, now)).await, SettleOutcome::LeaseLost);
    let settled = world.store.settle(other, vec![delivered(&job, now)]).await;
    assert_eq!(settled, Ok(vec![super::build::DONE]));
}
