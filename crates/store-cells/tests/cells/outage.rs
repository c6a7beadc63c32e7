//! A cell that is down stops its own tenants only; the loss of the home cell stops new tenants, not deliveries.

use std::time::{Duration, Instant};

use gancho_store::{
    Accept, AllTenants, CellFigures, Claiming, EventFilter, LeaseStatus, Nodes, PageRequest,
    Settle, SettleOutcome, StoreError, Upkeep,
};
use gancho_store_cells::{CellSetup, CellStore};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    postgres::{Postgres, fresh_database},
    wait_for,
};

use crate::stage::{ParcelGenerator, claim, delivered, in_schema, now, open, setup, take_all};

const TRUSTED: Duration = Duration::from_secs(12);

fn is_away<T: std::fmt::Debug>(result: Result<T, StoreError>, cell: &str) {
    match result {
        Err(StoreError::Unavailable(text)) => {
            assert!(text.contains(&format!("cell {cell}")), "{text}");
        }
        other => panic!("not unavailable: {other:?}"),
    }
}

async fn leased_in_cells(store: &CellStore) -> Vec<(&'static str, Option<u64>)> {
    let cells = store.cell_figures().await.unwrap();
    let of_cell = |cell: &CellFigures| {
        let name = if cell.name == "a" { "a" } else { "home" };
        let leased = cell.depths.as_ref().map(|all| all.iter().map(|of| of.leased).sum());
        assert_eq!(cell.used_bytes.is_some(), leased.is_some());
        (name, leased)
    };
    cells.iter().map(of_cell).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_is_down_stops_its_own_tenants_only() {
    let database = fresh_database().await.unwrap();
    let server = Postgres::start(&[]).unwrap();
    let store = open(&database.url(), Options::default()).await.unwrap();
    store.add_cell("a", &server.url("postgres")).await.unwrap();
    let maker = ParcelGenerator::new();
    let (near, far) = (maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap());
    let node = store.join("node", now()).await.unwrap();
    store.accept(vec![maker.event(near), maker.event(far)], node).await.unwrap();
    let jobs = take_all(&store, node).await;
    assert_eq!(jobs.len(), 2);
    let leased_at = Instant::now();
    assert_eq!(leased_in_cells(&store).await, [("home", Some(1)), ("a", Some(1))]);
    assert_eq!(store.nodes(10).await.unwrap()[0].leases, 2, "those of all cells");

    server.stop_at_once().unwrap();
    is_away(store.accept(vec![maker.event(far)], node).await, "a");
    assert_eq!(leased_in_cells(&store).await, [("home", Some(1)), ("a", None)]);
    for _ in 0..5 {
        let _ = store.accept(vec![maker.event(far)], node).await;
    }
    let begin = Instant::now();
    is_away(store.accept(vec![maker.event(far)], node).await, "a");
    assert!(begin.elapsed() < Duration::from_millis(100), "it rests: refused at once");

    // The other tenant is served as ever.
    store.accept(vec![maker.event(near)], node).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let begin = Instant::now();
    let claimed = take_all(&store, node).await;
    assert_eq!(claimed.len(), 1);
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    let of_near = jobs.iter().find(|job| job.tenant == near).unwrap();
    let of_far = jobs.iter().find(|job| job.tenant == far).unwrap();
    let settled = store.settle(node, vec![delivered(of_near)]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }]);
    is_away(store.settle(node, vec![delivered(of_far)]).await, "a");
    let listed = store.all_events(EventFilter::default(), PageRequest::first(10)).await.unwrap();
    assert_eq!(listed.rows.len(), 2, "what can be seen is shown");
    for _ in 0..3 {
        maker.tenant(&store).await.unwrap();
    }
    assert_eq!(store.list_cells().await.unwrap()[1].tenants, 1, "it gets no new tenant");
    // A lease there is not to be relied on for longer than a heartbeat lasts.
    let standing = |tenant, trusted| store.lease_status(node, tenant, leased_at, trusted);
    assert_eq!(standing(near, TRUSTED), LeaseStatus::Held);
    assert_eq!(standing(far, TRUSTED), LeaseStatus::Held);
    assert_eq!(standing(far, Duration::from_millis(1)), LeaseStatus::Doubtful);

    server.start_again().unwrap();
    wait_for("the cell answers", || async {
        store.accept(vec![maker.event(far)], node).await.ok()
    })
    .await;
    store.heartbeat(node, now()).await.unwrap();
    let settled = store.settle(node, vec![delivered(of_far)]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }], "the lease is still held");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_home_cell_known_tenants_go_on() {
    let database = fresh_database().await.unwrap();
    let server = Postgres::start(&[]).unwrap();
    let store = open(&server.url("postgres"), Options::default()).await.unwrap();
    store.add_cell("a", &database.url()).await.unwrap();
    let maker = ParcelGenerator::new();
    let (near, far) = (maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap());
    let node = store.join("node", now()).await.unwrap();

    server.stop_at_once().unwrap();
    store.accept(vec![maker.event(far)], node).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let jobs = take_all(&store, node).await;
    assert_eq!(jobs.len(), 1);
    let settled = store.settle(node, vec![delivered(&jobs[0])]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }]);
    assert!(store.accept(vec![maker.event(near)], node).await.is_err());
    assert!(maker.tenant(&store).await.is_err(), "no new tenants");

    server.start_again().unwrap();
    wait_for("the home cell answers", || async { maker.tenant(&store).await.ok() }).await;
    store.accept(vec![maker.event(near)], node).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_fenced_in_one_cell_loses_what_it_held_there() {
    let database = fresh_database().await.unwrap();
    let store = open(&database.url(), Options::default()).await.unwrap();
    let cell = in_schema(&database.url(), "a");
    store.add_cell("a", &cell).await.unwrap();
    let maker = ParcelGenerator::new();
    let (near, far) = (maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap());
    let node = store.join("node", now()).await.unwrap();
    store.accept(vec![maker.event(near), maker.event(far)], node).await.unwrap();
    let jobs = take_all(&store, node).await;
    let leased_at = Instant::now();

    let client = database.client().await.unwrap();
    client.batch_execute("update a.nodes set is_dead = true").await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let standing = |tenant| store.lease_status(node, tenant, leased_at, TRUSTED);
    assert_eq!((standing(near), standing(far)), (LeaseStatus::Held, LeaseStatus::Lost));
    let rescued = store.rescue(node, Duration::from_secs(15), now()).await.unwrap();
    assert_eq!(rescued.deliveries, 1);
    for job in &jobs {
        let settled = store.settle(node, vec![delivered(job)]).await.unwrap();
        let expected = if job.tenant == near {
            SettleOutcome::Done { follow: Vec::new() }
        } else {
            SettleOutcome::LeaseLost
        };
        assert_eq!(settled, [expected]);
    }
    let again = take_all(&store, node).await;
    assert_eq!(again.iter().map(|job| job.tenant).collect::<Vec<_>>(), [far]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_hangs_delays_no_claim_of_the_others() {
    let database = fresh_database().await.unwrap();
    let home = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let setup = CellSetup { claim_wait: Duration::from_millis(100), ..setup(Options::default()) };
    let store = CellStore::open(home, setup).await.unwrap();
    store.add_cell("a", &in_schema(&database.url(), "a")).await.unwrap();
    let maker = ParcelGenerator::new();
    let (near, far) = (maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap());
    let node = store.join("node", now()).await.unwrap();
    store.accept(vec![maker.event(near), maker.event(far)], node).await.unwrap();

    let mut client = database.client().await.unwrap();
    let lock = client.transaction().await.unwrap();
    lock.batch_execute("lock table a.deliveries").await.unwrap();
    let mut claim = claim(node);
    let mut tenants = Vec::new();
    for _ in 0..3 {
        claim.now = now();
        let begin = Instant::now();
        let claimed = store.claim(claim.clone()).await.unwrap();
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert!(claimed.more, "the other cell has not answered");
        tenants.extend(claimed.jobs.iter().map(|job| job.tenant));
        claim.cursor = claimed.cursor;
        store.accept(vec![maker.event(near)], node).await.unwrap();
    }
    assert_eq!(tenants, [near; 3]);

    // What it has leased late comes with a later claim, once.
    lock.rollback().await.unwrap();
    let jobs = take_all(&store, node).await;
    let mut tenants: Vec<_> = jobs.iter().map(|job| job.tenant).collect();
    tenants.sort_unstable();
    assert_eq!(tenants, [near, far]);
    assert!(take_all(&store, node).await.is_empty());
}
