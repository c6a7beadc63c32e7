//! Which nodes are alive, and what happens to the work of dead ones.

use std::collections::BTreeSet;

use gancho_domain::{Code, Lane, State};

use super::{
    Fixture,
    build::{World, hours, ids, placed, secs, tried_again},
};
use crate::{
    Claim, Job, NodeFacts, NodeId, Placement, SharedSettings, StoreError,
    nodes::{MAX_LOST_LEASES, SUSPECT_LEASES},
};

pub async fn no_number_is_given_twice<F: Fixture>() {
    let world = World::<F>::new().await;
    let mut seen = BTreeSet::from([world.node]);
    for _ in 0..5 {
        assert!(seen.insert(world.join().await), "{seen:?}");
    }
    for node in &seen {
        world.store.leave(*node, world.now()).await.unwrap();
    }
    assert!(seen.insert(world.join().await), "{seen:?}");
    let world = world.reopen().await;
    assert!(seen.insert(world.node), "{seen:?}");
    assert!(seen.insert(world.join().await), "{seen:?}");
}

pub async fn a_node_that_was_declared_dead_gets_an_error<F: Fixture>() {
    let world = World::<F>::new().await;
    let other = world.join().await;
    let now = world.now();
    assert_eq!(world.store.heartbeat(other, now).await, Ok(()));
    assert!(world.rescue().await.nodes >= 1);
    let beat = world.store.heartbeat(other, now).await;
    assert_eq!(beat, Err(StoreError::Fenced));
    assert_eq!(world.store.heartbeat(world.node, now).await, Ok(()));
}

pub async fn a_node_that_never_joined_gets_an_error<F: Fixture>() {
    let world = World::<F>::new().await;
    let unknown = NodeId(world.node.0 + 1_000);
    let beat = world.store.heartbeat(unknown, world.now()).await;
    assert_eq!(beat, Err(StoreError::Fenced));
}

async fn take_as<F: Fixture>(world: &World<F>, node: NodeId) -> Vec<Job> {
    let claim = Claim { node, ..world.claim() };
    world.take_until_done(claim).await.0
}

pub async fn the_work_of_the_dead_is_taken_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let own = world.due(acme, shop).await;
    assert_eq!(ids(&world.take_all().await), [own]);
    let lost = world.many_due(acme, shop, 3).await;
    let other = world.join().await;
    assert_eq!(ids(&take_as(&world, other).await), lost);

    let rescued = world.rescue().await;
    assert_eq!((rescued.deliveries, rescued.given_up), (3, 0));
    assert!(rescued.nodes >= 1);
    let jobs = world.take_all().await;
    assert_eq!(ids(&jobs), lost, "the caller keeps its own");
    for job in &jobs {
        assert_eq!((job.attempts, job.attempts_before), (0, 0));
        world.deliver(job).await;
    }
    assert_eq!(world.see(acme, own).await.row.state, State::Leased);
    assert_eq!(world.rescue().await.deliveries, 0, "once is enough");
}

pub async fn the_living_are_left_alone<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.due(acme, world.target()).await;
    let other = world.join().await;
    assert_eq!(take_as(&world, other).await.len(), 1);
    let rescued = world.store.rescue(world.node, hours(1), world.now()).await;
    assert_eq!(rescued, Ok(crate::RescueCounts::default()));
    world.nothing_is_due().await;
    let now = world.now();
    assert_eq!(world.store.heartbeat(other, now).await, Ok(()));
}

/// A node that was declared dead may not know it yet: what it takes after that is not lost.
pub async fn what_a_dead_node_takes_is_taken_from_it<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let zombie = world.join().await;
    world.rescue().await;

    let mut expected = world.many_due(acme, shop, 2).await;
    let claim = Claim { node: zombie, max: 1, ..world.claim() };
    match world.store.claim(claim).await {
        Ok(_) | Err(StoreError::Fenced) => (),
        Err(other) => panic!("{other}"),
    }
    let held = world.event(acme).held_for(shop);
    let held_id = held.delivery(0);
    match world.store.accept(vec![held.done()], zombie).await {
        Ok(_) => expected.push(held_id),
        Err(StoreError::Fenced) => (),
        Err(other) => panic!("{other}"),
    }
    world.rescue().await;
    let mut found = ids(&world.take_all().await);
    found.sort_unstable();
    assert_eq!(found, expected);
}

pub async fn a_delivery_that_kills_its_nodes_is_given_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).about("order-1").in_order_to(shop);
    let deadly = draft.delivery(0);
    world.accept(draft).await;
    let next = world.event(acme).about("order-1").in_order_to(shop);
    let next_id = next.delivery(0);
    assert_eq!(placed(&world.accept(next).await), [Placement::Waiting]);

    for death in 1..=MAX_LOST_LEASES {
        let victim = world.join().await;
        let jobs = take_as(&world, victim).await;
        assert_eq!(ids(&jobs), [deadly]);
        assert_eq!(jobs[0].lost_leases, death - 1);
        if death > SUSPECT_LEASES {
            assert!(world.store.note_attempt(victim, (acme, deadly).into()).await.unwrap());
        }
        world.pass(secs(30));
        let rescued = world.rescue().await;
        let expected = if death < MAX_LOST_LEASES { (1, 0) } else { (0, 1) };
        let found = (rescued.deliveries, rescued.given_up);
        assert_eq!(found, expected, "death {death}");
    }

    let row = world.see(acme, deadly).await.row;
    assert_eq!((row.state, row.attempts), (State::Dead, 0));
    let dead = world.dead_letter(deadly).await.unwrap();
    assert_eq!(*dead.failure.code(), Code::LEASE_LOST);
    assert!(!dead.failure.reason().trim().is_empty());
    assert_eq!(row.last_failure, Some(dead.failure));
    assert_eq!(dead.lane, Lane::Webhook);
    assert_eq!(dead.moved_at, world.now());
    assert_eq!(dead.expires_at, world.now() + hours(7 * 24));
    assert_eq!(ids(&world.take_all().await), [next_id], "the next moves up");
}

/// faults.md 28: deliveries that merely wait at a node that dies are handed on, however often.
pub async fn what_was_not_tried_is_never_given_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let held = world.many_due(acme, world.target(), 5).await;
    let deadly = held[2];
    for death in 1..=MAX_LOST_LEASES + 5 {
        let victim = world.join().await;
        let jobs = take_as(&world, victim).await;
        let tried = jobs.iter().find(|job| job.delivery == deadly);
        assert_eq!(tried.is_some(), death <= MAX_LOST_LEASES);
        if tried.is_some_and(|job| job.lost_leases >= SUSPECT_LEASES) {
            assert!(world.store.note_attempt(victim, (acme, deadly).into()).await.unwrap());
        }
        world.rescue().await;
    }
    assert_eq!(world.see(acme, deadly).await.row.state, State::Dead);
    let left: Vec<_> = held.into_iter().filter(|id| *id != deadly).collect();
    assert_eq!(ids(&world.take_all().await), left);
}

/// A node that survived an attempt, or left during one, did not die of it.
pub async fn an_attempt_that_was_survived_clears_the_count<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = world.due(acme, world.target()).await;
    for ends in ["settled", "left"] {
        for lost in 0..SUSPECT_LEASES {
            let victim = world.join().await;
            let jobs = take_as(&world, victim).await;
            assert_eq!((jobs[0].delivery, jobs[0].lost_leases), (id, lost), "{ends}");
            world.rescue().await;
        }
        let node = world.join().await;
        let jobs = take_as(&world, node).await;
        assert_eq!(jobs[0].lost_leases, SUSPECT_LEASES);
        let stranger = world.join().await;
        assert!(!world.store.note_attempt(stranger, (acme, id).into()).await.unwrap());
        assert!(world.store.note_attempt(node, (acme, id).into()).await.unwrap());
        if ends == "settled" {
            let retry = tried_again(&jobs[0], world.now(), world.now());
            world.store.settle(node, vec![retry]).await.unwrap();
        }
        world.store.leave(node, world.now()).await.unwrap();
    }
    assert_eq!(world.take_one().await.lost_leases, 0);
}

pub async fn who_leaves_gives_everything_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 3).await;
    // More often than a delivery may be lost: leaving does not count as a loss.
    for _ in 0..MAX_LOST_LEASES + 2 {
        let node = world.join().await;
        assert_eq!(ids(&take_as(&world, node).await), made);
        world.store.leave(node, world.now()).await.unwrap();
    }
    let jobs = world.take_all().await;
    assert_eq!(ids(&jobs), made);
    assert_eq!(jobs[0].attempts, 0);
}

pub async fn nodes_are_listed_with_what_they_say_of_themselves<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    let (other, left) = (world.join().await, world.join().await);
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let shared_settings = SharedSettings {
        made_by: "1.2.3/1".to_owned(),
        settings: vec![named("admin_token", "ab12"), named("retention", "cd34")],
    };
    let facts =
        NodeFacts { version: "1.2.3".to_owned(), roles: "api,worker".to_owned(), shared_settings };
    store.describe_node(other, facts.clone()).await.unwrap();
    store.leave(left, world.now()).await.unwrap();
    let nodes = store.nodes(10).await.unwrap();
    let ids: Vec<_> = nodes.iter().map(|node| node.id).collect();
    assert_eq!(ids, [other, world.node], "who left is not listed");
    assert_eq!((&nodes[0].facts, nodes[0].name.as_str()), (&facts, "another"));
    assert_eq!(nodes[1].facts, NodeFacts::default());
    assert!(nodes.iter().all(|node| !node.is_dead && node.seen_at >= node.joined_at));
    assert_eq!(store.nodes(1).await.unwrap(), nodes[..1]);
    assert!(nodes.iter().all(|node| node.leases == 0));
    let due_at = world.now();
    world.due(world.tenant().await, world.target()).await;
    assert_eq!(take_as(&world, other).await.len(), 1);
    let nodes = store.nodes(10).await.unwrap();
    let held: Vec<_> = nodes.iter().map(|node| (node.leases, node.oldest_due_at)).collect();
    assert_eq!((held[0].0, held[1]), (1, (0, None)));
    assert!(held[0].1.is_some_and(|at| at >= due_at && at <= world.now()), "{held:?}");
    world.rescue().await;
    let nodes = store.nodes(10).await.unwrap();
    let states: Vec<_> = nodes.iter().map(|node| (node.id, node.is_dead)).collect();
    assert_eq!(states, [(world.node, false), (other, true)], "the living come first");
    assert!(nodes.iter().all(|node| node.leases == 0), "what it held is taken from the dead");
}
