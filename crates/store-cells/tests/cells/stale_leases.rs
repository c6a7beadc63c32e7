//! A lease belongs to one cell and one number of the node there. What was leased before its tenant moved, or before the node was
//! given another number, is not what the same node holds now.

use std::time::{Duration, Instant};

use gancho_store::{
    Accept, Claiming, Job, Lease, NodeId, Nodes, Settle, SettleOutcome, Settlement,
};
use gancho_store_cells::{CellSetup, CellStore, MoveRules, MoveStep};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{postgres::fresh_database, wait_for};

use super::moved::{World, at_once, ended, uuid};
use crate::stage::{ParcelGenerator, claim, delivered, in_schema, now, open, setup, take_all};

/// The node holds the delivery of `old` again, by a later lease. What was begun under the first one ends now.
async fn is_kept_apart(store: &CellStore, node: NodeId, old: &Job, old_since: Instant) {
    let (since, job) = wait_for("it is claimed again", || async {
        let since = Instant::now();
        Some(since).zip(take_all(store, node).await.pop())
    })
    .await;
    assert_eq!(job.delivery, old.delivery);
    let by = |since: Instant| Settlement { leased_at: Some(since), ..delivered(&job) };
    let lease =
        |since: Instant| Lease { since: Some(since), ..Lease::from((job.tenant, job.delivery)) };
    let settled = store.settle(node, vec![by(old_since)]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::LeaseLost]);
    store.release(node, vec![lease(old_since)]).await.unwrap();
    assert!(take_all(store, node).await.is_empty(), "what it holds now was not released");
    assert!(!store.note_attempt(node, lease(old_since)).await.unwrap());
    assert!(store.note_attempt(node, lease(since)).await.unwrap());
    let settled = store.settle(node, vec![by(since)]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_from_before_a_move_ends_nothing_after_it() {
    let world = World::new().await;
    let store = world.node(MoveRules { drain: Duration::ZERO, ..at_once() }).await;
    let tenant = world.with_tenant(&store).await;
    let node = store.join("node", now()).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    store.accept(vec![world.maker.event(tenant)], node).await.unwrap();
    let since = Instant::now();
    let held = take_all(&store, node).await;
    assert_eq!(held.len(), 1);
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    is_kept_apart(&store, node, &held[0], since).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_from_before_a_node_was_fenced_in_a_cell_ends_nothing_after_it() {
    let database = fresh_database().await.unwrap();
    let store = open(&database.url(), Options::default()).await.unwrap();
    store.add_cell("a", &in_schema(&database.url(), "a")).await.unwrap();
    let maker = ParcelGenerator::new();
    let (_, far) = (maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap());
    let node = store.join("node", now()).await.unwrap();
    store.accept(vec![maker.event(far)], node).await.unwrap();
    let since = Instant::now();
    let held = take_all(&store, node).await;
    assert_eq!(held.len(), 1);
    let client = database.client().await.unwrap();
    client.batch_execute("update a.nodes set is_dead = true").await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let rescued = store.rescue(node, Duration::from_secs(15), now()).await.unwrap();
    assert_eq!(rescued.deliveries, 1);
    is_kept_apart(&store, node, &held[0], since).await;
}

/// A node whose claim in the home cell has leased something when nobody waited for it any more.
async fn with_a_late_claim(world: &World, rules: MoveRules) -> (std::sync::Arc<CellStore>, NodeId) {
    let home = PostgresStore::connect(&world.url("home"), Options::default()).await.unwrap();
    let mut setup =
        CellSetup { claim_wait: Duration::from_millis(50), ..setup(Options::default()) };
    setup.moves = rules;
    let store = CellStore::open(home, setup).await.unwrap();
    let tenant = world.with_tenant(&store).await;
    let node = store.join("node", now()).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    store.accept(vec![world.maker.event(tenant)], node).await.unwrap();
    let mut client = world.database.client().await.unwrap();
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table home.deliveries").await.unwrap();
    let claimed = store.claim(claim(node)).await.unwrap();
    assert!(claimed.jobs.is_empty() && claimed.more);
    lock.rollback().await.unwrap();
    let leased =
        format!("select from home.deliveries where tenant_id = '{}' and state = 3", uuid(tenant));
    wait_for("it is leased", || async {
        let rows = client.query(&leased, &[]).await.unwrap();
        (!rows.is_empty()).then_some(())
    })
    .await;
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    (store, node)
}

async fn is_delivered_once(store: &CellStore, node: NodeId) {
    let (since, jobs) = wait_for("it is claimed", || async {
        let since = Instant::now();
        let jobs = take_all(store, node).await;
        (!jobs.is_empty()).then_some((since, jobs))
    })
    .await;
    assert_eq!(jobs.len(), 1, "not from the old cell as well");
    let settlement = Settlement { leased_at: Some(since), ..delivered(&jobs[0]) };
    let settled = store.settle(node, vec![settlement]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }]);
    assert!(take_all(store, node).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_was_answered_before_a_move_is_not_carried_out_after_it() {
    let world = World::new().await;
    let rules = MoveRules { drain: Duration::ZERO, ..at_once() };
    let (store, node) = with_a_late_claim(&world, rules).await;
    is_delivered_once(&store, node).await;
}

/// The lane may be full or paused, so that there is no next claim for a long time.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_does_not_wait_for_what_was_claimed_late() {
    let world = World::new().await;
    let rules = MoveRules { drain: Duration::from_mins(10), ..at_once() };
    let (store, node) = with_a_late_claim(&world, rules).await;
    is_delivered_once(&store, node).await;
}
