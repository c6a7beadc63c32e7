//! A cell that hangs, as when its disk or its network does: it accepts connections and never answers.

use std::time::{Duration, Instant};

use gancho_domain::{TenantId, TenantScope};
use gancho_store::{
    Accept, AuditFilter, AuditLog, Claiming, Deliveries, Documents, Endpoints, Intake, IntakeBatch,
    NodeId, Nodes, PageRequest, Pauses, ReplayJobs, Settle, SettleOutcome, Store, StoreError,
    Tenants, Upkeep,
};
use gancho_store_cells::{CellSetup, CellStore};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    postgres::{Database, Postgres, fresh_database},
    wait_for,
};

use crate::stage::{ParcelGenerator, claim, delivered, now, setup, take_all};

/// What is refused is refused within this time.
const AT_ONCE: Duration = Duration::from_millis(100);

struct World {
    store: std::sync::Arc<CellStore>,
    maker: ParcelGenerator,
    node: NodeId,
    /// Of the home cell, and of the cell `a`.
    near: TenantId,
    far: TenantId,
    /// Of one of the two cells.
    server: Postgres,
    _database: Database,
}

impl World {
    async fn new(is_home_away: bool) -> Self {
        let database = fresh_database().await.unwrap();
        let server = Postgres::start(&[]).unwrap();
        let (mut home, mut cell) = (database.url(), server.url("postgres"));
        if is_home_away {
            std::mem::swap(&mut home, &mut cell);
        }
        let home = PostgresStore::connect(&home, Options::default()).await.unwrap();
        let setup =
            CellSetup { claim_wait: Duration::from_millis(100), ..setup(Options::default()) };
        let store = CellStore::open(home, setup).await.unwrap();
        store.add_cell("a", &cell).await.unwrap();
        let maker = ParcelGenerator::new();
        let near = maker.tenant(&store).await.unwrap();
        let far = maker.tenant(&store).await.unwrap();
        assert_eq!(store.cell_name(far).as_deref(), Some("a"));
        let node = store.join("node", now()).await.unwrap();
        Self { store, maker, node, near, far, server, _database: database }
    }

    async fn accept(&self, tenant: TenantId) -> Result<(), StoreError> {
        let accepted = self.store.accept(vec![self.maker.event(tenant)], self.node).await;
        accepted.map(drop)
    }
}

async fn within<T>(max: Duration, what: &str, call: impl Future<Output = T>) -> T {
    let begin = Instant::now();
    let answer = call.await;
    assert!(begin.elapsed() < max, "{what}: {:?}", begin.elapsed());
    answer
}

#[expect(clippy::needless_pass_by_value, reason = "for what was returned a moment ago")]
fn is_refused<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    let Err(StoreError::Unavailable(_)) = result else { panic!("not refused: {result:?}") };
}

fn has_timed_out<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    match result {
        Err(StoreError::TimedOut(text)) => assert!(text.contains("cell "), "{text}"),
        other => panic!("not timed out: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_hangs_is_left_alone_until_it_answers() {
    let world = World::new(false).await;
    let (store, far) = (&world.store, world.far);
    world.accept(far).await.unwrap();
    let jobs = take_all(store, world.node).await;
    assert_eq!(jobs.len(), 1);

    world.server.freeze().unwrap();
    // Those who call it before its first heartbeat fails wait for that, and no longer.
    let (accepted, looked_up, listed, beaten) = within(Duration::from_secs(4), "known", async {
        tokio::join!(
            world.accept(far),
            store.endpoints_version(TenantScope::internal(far)),
            store.endpoints(TenantScope::internal(far)),
            store.heartbeat(world.node, now()),
        )
    })
    .await;
    has_timed_out(accepted);
    has_timed_out(looked_up);
    has_timed_out(listed);
    beaten.unwrap();

    // No heartbeat comes, and it rests all the same.
    for _ in 0..10 {
        within(AT_ONCE, "publishing", async { is_refused(world.accept(far).await) }).await;
        let looked_up = store.endpoints(TenantScope::internal(far));
        within(AT_ONCE, "a lookup", async { is_refused(looked_up.await) }).await;
        let unknown = store.find_document("api_key", "of-nobody");
        within(AT_ONCE, "an unknown key", async { is_refused(unknown.await) }).await;
        is_refused(store.settle(world.node, vec![delivered(&jobs[0])]).await);
        within(Duration::from_secs(1), "the others", async {
            world.accept(world.near).await.unwrap();
            store.last_written().await.unwrap().unwrap();
            store.pauses().await.unwrap();
            assert!(store.open_replays(10).await.unwrap().is_empty());
            store.rescue(world.node, Duration::from_secs(15), now()).await.unwrap();
        })
        .await;
        // Sleeps for some of the time in which it must not be asked.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(store.list_cells().await.unwrap()[1].trouble.as_deref(), Some("it does not answer"));
    assert_eq!(take_all(store, world.node).await.len(), 10);

    world.server.unfreeze().unwrap();
    wait_for("the cell answers", || async { world.accept(far).await.ok() }).await;
    let settled = store.settle(world.node, vec![delivered(&jobs[0])]).await.unwrap();
    assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }], "the lease is still held");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_long_for_a_cell_that_is_not_known_to_hang() {
    let world = World::new(false).await;
    let (store, far) = (&world.store, world.far);
    world.server.freeze().unwrap();
    let ready = within(Duration::from_millis(1_900), "whether the store answers", async {
        store.last_written().await
    });
    ready.await.unwrap();
    let batch = IntakeBatch {
        max_tenants: 10,
        max_events: 10,
        max_bytes: 1 << 20,
        lease: Duration::from_secs(10),
    };
    let max = Duration::from_secs(6);
    tokio::join!(
        within(max, "a lookup", async {
            has_timed_out(store.endpoints_version(TenantScope::internal(far)).await);
        }),
        within(max, "an unknown key", async {
            assert!(store.find_document("api_key", "of-nobody").await.is_err());
        }),
        within(max, "pauses", async { store.pauses().await.unwrap() }),
        within(max, "replays", async { store.open_replays(10).await.unwrap() }),
        within(max, "intake", async { store.take_intake(None, batch).await.unwrap() }),
    );
    // Three of them are enough to tell.
    within(AT_ONCE, "publishing", async { is_refused(world.accept(far).await) }).await;
    let mut claim = claim(world.node);
    claim.now = now();
    within(Duration::from_secs(1), "a claim", async { store.claim(claim).await.unwrap() }).await;
    world.server.unfreeze().unwrap();
    wait_for("the cell answers", || async { world.accept(far).await.ok() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_cell_that_hangs_holds_up_no_call_for_other_cells() {
    let world = World::new(true).await;
    let (store, far) = (&world.store, world.far);
    let slug = store.tenant(far).await.unwrap().unwrap().slug;
    world.server.freeze().unwrap();
    let audited = store.append_audit(Vec::new(), Duration::from_hours(1));
    let listed = store.audit(AuditFilter::default(), PageRequest::first(1));
    let (audited, listed, beaten) = within(Duration::from_secs(4), "known", async {
        tokio::join!(audited, listed, store.heartbeat(world.node, now()))
    })
    .await;
    // Nothing to write may be written at once.
    assert!(audited.is_ok() || matches!(audited, Err(StoreError::TimedOut(_))), "{audited:?}");
    has_timed_out(listed);
    beaten.unwrap();
    for _ in 0..5 {
        within(Duration::from_secs(1), "the other cell", async {
            world.accept(far).await.unwrap();
            assert!(store.tenant_by_slug(&slug).await.unwrap().is_some());
            store.last_written().await.unwrap().unwrap();
        })
        .await;
        // It is what finds out, and the other cell does not wait for its end.
        let beaten = store.heartbeat(world.node, now());
        within(Duration::from_secs(3), "a heartbeat", beaten).await.unwrap();
        within(AT_ONCE, "the home cell", async {
            is_refused(store.audit(AuditFilter::default(), PageRequest::first(1)).await);
            is_refused(world.accept(world.near).await);
        })
        .await;
        // Sleeps for some of the time in which it must not be asked.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!((store.shard(world.near), store.shard(far)), (Some(0), Some(1)));
    let delivery = take_all(store, world.node).await.pop().unwrap().delivery;
    assert_eq!(store.delivery_owner(delivery).await.unwrap(), Some(far));
    world.server.unfreeze().unwrap();
    wait_for("the home cell answers", || async { world.accept(world.near).await.ok() }).await;
}
