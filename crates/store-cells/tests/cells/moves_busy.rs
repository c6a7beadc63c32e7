//! Moves of tenants that make it hard: they change all the time, have long transactions or a long intake, or are deleted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use gancho_domain::TenantId;
use gancho_store::{Accept, Erasure, Nodes};
use gancho_store_cells::{CellStore, MovePoint, MoveRules, MoveStatus, MoveStep};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{postgres::Client, wait_for};
use tokio::{runtime::Handle, task::block_in_place};

use super::moved::{World, at_once, ended, uuid};
use crate::stage::now;

/// Runs SQL whenever the move comes to a point, until it is over.
fn meanwhile(point: MovePoint, client: Client, sql: String) -> (MoveRules, Arc<AtomicBool>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let runs = {
        let is_over = is_over.clone();
        move |at| {
            if at == point && !is_over.load(Ordering::SeqCst) {
                let run = client.batch_execute(&sql);
                block_in_place(|| Handle::current().block_on(run)).unwrap();
            }
            false
        }
    };
    (MoveRules { dies_at: Some(Arc::new(runs)), ..at_once() }, is_over)
}

/// Updates all deliveries of the tenant.
fn changes(tenant: TenantId, times: usize) -> String {
    let tenant = uuid(tenant);
    let change = format!("update deliveries set due_at = due_at + 1 where tenant_id = '{tenant}';");
    format!("set search_path = home; {}", change.repeat(times))
}

async fn delayed(store: &CellStore, tenant: TenantId, by: &str) -> MoveStatus {
    wait_for("the status says why", || async {
        let status = store.move_status(tenant).await.unwrap().unwrap();
        assert!(!status.step.has_ended(), "{status:?}");
        status.error.as_ref().is_some_and(|error| error.contains(by)).then_some(status)
    })
    .await
}

async fn done(store: &CellStore, tenant: TenantId) -> MoveStatus {
    wait_for("the move has ended", || async {
        let status = store.move_status(tenant).await.unwrap().unwrap();
        (status.step == MoveStep::Done).then_some(status)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_always_changes_moves() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 300).await;
    drop(first);
    let client = world.database.client().await.unwrap();
    let (rules, _) = meanwhile(MovePoint::ChangesCopied, client, changes(tenant, 1));
    let store = world.node(rules).await;
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    assert_eq!(world.left("home", tenant).await, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_changes_faster_than_it_is_copied_stays_and_the_status_says_so() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 30).await;
    drop(first);
    let client = world.database.client().await.unwrap();
    // A few more than are copied at a time.
    let (rules, is_over) = meanwhile(MovePoint::ChangesCopied, client, changes(tenant, 7));
    let store = world.node(MoveRules { changes: 200, ..rules }).await;
    store.move_tenant(tenant, "a").await.unwrap();
    delayed(&store, tenant, "changes faster than it can be copied").await;
    let node = store.join("node", now()).await.unwrap();
    wait_for("it is in use meanwhile", || async {
        store.accept(vec![world.maker.event(tenant)], node).await.ok()
    })
    .await;
    is_over.store(true, Ordering::SeqCst);
    let before = world.content("home", tenant).await["deliveries"].clone();
    done(&store, tenant).await;
    assert_eq!(world.content("a", tenant).await["deliveries"], before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_with_a_transaction_that_does_not_end_is_not_closed_again_and_again() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 5).await;
    drop(first);
    let application = Arc::new(world.database.client().await.unwrap());
    let begin = format!(
        "set search_path = home; begin; update endpoints set updated_at = 7 where tenant_id = '{}'",
        uuid(tenant)
    );
    let (client, has_begun) = (application.clone(), Arc::new(AtomicBool::new(false)));
    let begins = move |at| {
        if at == MovePoint::CaughtUp && !has_begun.swap(true, Ordering::SeqCst) {
            block_in_place(|| Handle::current().block_on(client.batch_execute(&begin))).unwrap();
        }
        false
    };
    let (dies_at, close) = (Arc::new(begins), Duration::from_millis(20));
    let store = world.node(MoveRules { dies_at: Some(dies_at), close, ..at_once() }).await;
    store.move_tenant(tenant, "a").await.unwrap();
    delayed(&store, tenant, "transactions that write for the tenant take too long").await;
    application.batch_execute("commit").await.unwrap();
    let status = done(&store, tenant).await;
    assert!(status.closed.unwrap() > Duration::from_millis(40), "every closing counts: {status:?}");
    let changed = world.content("a", tenant).await["endpoints"].1.clone();
    assert!(!changed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_to_be_accepted_is_not_waited_for() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 5).await;
    let waiting = format!(
        "insert into home.intake (tenant_id, id, state, event_type, body, size, published_at, taken_until)
         select '{}', gen_random_uuid(), 2, 'a.b', '{{}}', 2, i, null from generate_series(1, 1500) i",
        uuid(tenant)
    );
    world.run(&waiting).await;
    let before = world.content("home", tenant).await["intake"].clone();
    drop(first);
    let (client, copied) = (world.database.client().await.unwrap(), Arc::new(AtomicI64::new(-1)));
    let count = format!("select count(*) from a.intake where tenant_id = '{}'", uuid(tenant));
    let looks = {
        let copied = copied.clone();
        move |at| {
            if at == MovePoint::Switched {
                let row =
                    block_in_place(|| Handle::current().block_on(client.query_one(&count, &[])));
                copied.store(row.unwrap().get(0), Ordering::SeqCst);
            }
            false
        }
    };
    let store = world.node(MoveRules { dies_at: Some(Arc::new(looks)), ..at_once() }).await;
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    assert_eq!(
        copied.load(Ordering::SeqCst),
        0,
        "nothing of it was copied while the tenant was closed"
    );
    assert_eq!(world.content("a", tenant).await["intake"], before, "all of it, in order");
    assert_eq!(world.left("home", tenant).await, Vec::<&str>::new());
}

/// A guard that is there already is not put again: that would disturb everyone who writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_does_not_wait_for_those_who_write() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    drop(store);
    let home = PostgresStore::connect(&world.url("home"), Options::default()).await.unwrap();
    assert!(home.begin_move(tenant, 0, 1).await.unwrap());
    let run = home.take_move(tenant, Duration::from_mins(10)).await.unwrap().unwrap();
    home.guard_departure(&run).await.unwrap();
    let writer = world.database.client().await.unwrap();
    writer.batch_execute("begin; lock table home.attempts in row exclusive mode").await.unwrap();
    let run = gancho_store_postgres::MoveRow { place: "parcels".into(), ..run };
    let guarded = tokio::time::timeout(Duration::from_secs(60), home.guard_departure(&run)).await;
    assert_eq!(guarded, Ok(Ok(())));
    writer.batch_execute("rollback").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_is_deleted_when_its_move_begins_is_taken_back() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 5).await;
    drop(first);
    let home = PostgresStore::connect(&world.url("home"), Options::default()).await.unwrap();
    assert!(home.begin_move(tenant, 0, 1).await.unwrap());
    // A node that has looked before.
    assert!(home.delete_tenant(tenant, now()).await.unwrap());
    assert!(!home.mark_deleted(tenant, 0).await.unwrap(), "the move needs its place");
    let store = world.node(at_once()).await;
    wait_for("the move is taken back", || async {
        let status = store.move_status(tenant).await.unwrap().unwrap();
        (status.step == MoveStep::TakenBack).then_some(())
    })
    .await;
    assert_eq!(world.left("a", tenant).await, Vec::<&str>::new());
    let client = world.database.client().await.unwrap();
    let deleted =
        format!("select from home.cell_tenants where tenant_id = '{}' and state = 3", uuid(tenant));
    wait_for("the directory says so", || async {
        (!client.query(&deleted, &[]).await.unwrap().is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_is_missing_from_the_directory_moves() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    let forget = format!("delete from home.cell_tenants where tenant_id = '{}'", uuid(tenant));
    world.run(&forget).await;
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
}
