//! What could go wrong around a move: a run of it that was thought dead, an application's transaction that is open the whole
//! time, a minute of statistics that begins in one cell and ends in the other, a copy that is taken for the tenant's own.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Figures, Lane, TenantScope};
use gancho_store::{
    Accept, Claiming, Documents, Intake, IntakeBatch, MinuteFigures, Nodes, Series, Statistics,
    StatisticsBatch, StatisticsStep, StatisticsWindow, StoreError,
};
use gancho_store_cells::MoveStep;
use gancho_store_postgres::{MOVED_TABLES, Options, PostgresStore};
use gancho_testkit::wait_for;

use super::moved::{World, at_once, ended};
use crate::stage::{claim, now, take_all};

async fn cell(world: &World, schema: &str) -> Arc<PostgresStore> {
    PostgresStore::connect(&world.url(schema), Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_thought_dead_changes_nothing_more() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    world.fill("home", tenant, 20).await;
    let before = world.content("home", tenant).await;
    drop(store);
    let (home, a) = (cell(&world, "home").await, cell(&world, "a").await);
    assert!(home.begin_move(tenant, 0, 1).await.unwrap());
    assert!(!home.begin_move(tenant, 0, 1).await.unwrap(), "one move at a time");
    let lease = Duration::from_millis(300);
    let old = home.take_move(tenant, lease).await.unwrap().unwrap();
    a.guard_arrival(&old).await.unwrap();
    home.guard_departure(&old).await.unwrap();
    home.copy_rows(&a, &old, MOVED_TABLES[0], None).await.unwrap();
    // It says nothing for longer than its lease, and a node takes over.
    let store = world.node(at_once()).await;
    ended(&store, tenant, MoveStep::Done).await;

    let taken_over = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    };
    for table in MOVED_TABLES {
        taken_over(home.copy_rows(&a, &old, table, None).await.map(drop));
        taken_over(home.remove_moved(&old, table).await.map(drop));
        taken_over(a.remove_copied(&old, table).await.map(drop));
    }
    taken_over(home.copy_rest(&a, &old).await);
    taken_over(a.guard_arrival(&old).await);
    taken_over(home.guard_departure(&old).await);
    taken_over(home.close_departure(&old, Duration::ZERO).await.map(drop));
    assert!(!home.switch_move(&old).await.unwrap());
    assert!(!home.renew_move(&old, lease).await.unwrap());
    a.lift_guard(&old).await.unwrap();
    home.lift_guard(&old).await.unwrap();
    assert_eq!(world.content("a", tenant).await, before);
    let node = home.join("ignorant", now()).await.unwrap();
    let accepted = home.accept(vec![world.maker.event(tenant)], node).await;
    assert!(matches!(accepted, Err(StoreError::Moving(_))), "{accepted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_application_publishes_meanwhile_follows() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    let publish = format!("select home.publish('{tenant}', 'a.b', '{{}}')");
    world.run(&publish).await;
    let application = world.database.client().await.unwrap();
    application.batch_execute(&format!("begin; {publish}")).await.unwrap();
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    assert_eq!(world.content("a", tenant).await["intake"].0, 1, "the one that was committed");
    application.batch_execute("commit").await.unwrap();
    let refused = application.batch_execute(&publish).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "WH404", "{refused}");
    application.batch_execute(&publish.replace("home", "a")).await.unwrap();

    let lease = Duration::ZERO;
    let batch = IntakeBatch { max_tenants: 10, max_events: 10, max_bytes: 1 << 20, lease };
    wait_for("it follows", || async {
        let taken = store.take_intake(None, batch).await.unwrap();
        (taken.len() == 3).then_some(())
    })
    .await;
    assert_eq!(world.left("home", tenant).await, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_that_begins_in_one_cell_and_ends_in_the_other_is_counted_once() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    let node = store.join("node", now()).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let (series, minute) = (Series::within(tenant, (None, Lane::Webhook)), now());
    let minute = StatisticsStep::Minute.floor(minute);
    // A row holds all that the node has counted in the minute.
    let write = async |accepted: u64| {
        let figures = Figures { accepted, ..Figures::default() };
        let rows = vec![MinuteFigures { series, minute, figures }];
        store.write_statistics(StatisticsBatch { node, part: 0, rows }, now()).await.unwrap();
    };
    let read = async || {
        let until = minute + Duration::from_mins(1);
        let window = StatisticsWindow { step: StatisticsStep::Minute, since: minute, until };
        let (scope, of) = (TenantScope::internal(tenant), vec![(None, Lane::Webhook)]);
        let points = store.tenant_statistics(scope, of, window).await.unwrap();
        points.iter().map(|point| point.figures.accepted).sum::<u64>()
    };
    write(3).await;
    for (to, total) in [("a", 5), ("home", 8), ("a", 9)] {
        let before = read().await;
        store.move_tenant(tenant, to).await.unwrap();
        ended(&store, tenant, MoveStep::Done).await;
        assert_eq!(read().await, before, "{to}");
        write(total).await;
        assert_eq!(read().await, total, "{to}");
    }
}

/// Copies are nobody's until the tenant has moved: they are not claimed, found or listed.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_not_used() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    world.fill("home", tenant, 12).await;
    let node = store.join("node", now()).await.unwrap();
    let due = vec![world.maker.event(tenant), world.maker.event(tenant)];
    store.accept(due, node).await.unwrap();
    drop(store);
    let (home, a) = (cell(&world, "home").await, cell(&world, "a").await);
    assert!(home.begin_move(tenant, 0, 1).await.unwrap());
    let lease = Duration::from_secs(60);
    let run = home.take_move(tenant, lease).await.unwrap().unwrap();
    a.guard_arrival(&run).await.unwrap();
    for table in MOVED_TABLES {
        home.copy_rows(&a, &run, table, None).await.unwrap();
    }
    assert_eq!(world.content("a", tenant).await["deliveries"].0, 14);
    let node = a.join("node", now()).await.unwrap();
    assert!(a.claim(claim(node)).await.unwrap().jobs.is_empty(), "a node that does not know");
    let store = world.node(at_once()).await;
    let node = store.join("node", now()).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    wait_for("the node knows", || async {
        let found = store.documents_of_all("it's", None, 100).await.unwrap();
        (found.len() == 30).then_some(())
    })
    .await;
    assert_eq!(take_all(&store, node).await.len(), 2, "those of the old cell");
}
