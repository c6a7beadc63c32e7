//! Moving a tenant while two nodes publish and deliver for it: nothing is lost, doubled or out of order, and a node that does
//! not know of the move can write nothing in the old cell.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_domain::TenantId;
use gancho_store::{
    Accept, AcceptOutcome, Claiming, Job, Lease, LeaseStatus, NewParcel, NodeId, Nodes, Settle,
    SettleOutcome, Settlement, StoreError,
};
use gancho_store_cells::{CellStore, MoveRules, MoveStep};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::wait_for;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::moved::{World, at_once, ended};
use crate::stage::{claim, delivered, now};

const SUBJECTS: [&str; 4] = ["s0", "s1", "s2", "s3"];
const TRUSTED: Duration = Duration::from_secs(60);

/// What was accepted and what was sent, each as subject and number, in this order.
#[derive(Default)]
struct Traffic {
    accepted: Mutex<Vec<(String, u64)>>,
    sent: Mutex<Vec<(String, u64)>>,
    /// The longest time in which nothing could be published, in microseconds.
    refused_for: AtomicU64,
    is_over: AtomicBool,
}

impl Traffic {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn sent_per_subject(&self) -> BTreeMap<String, Vec<u64>> {
        let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (subject, number) in self.sent.lock().iter() {
            all.entry(subject.clone()).or_default().push(*number);
        }
        all
    }
}

fn about(
    world: &World,
    tenant: TenantId,
    target: gancho_store::TargetId,
    subject: &str,
) -> NewParcel {
    let mut new = world.maker.event(tenant);
    Arc::make_mut(&mut new.parcel).subject = Some(subject.into());
    new.deliveries[0].in_order = true;
    new.deliveries[0].target = target;
    new
}

/// Publishes for one subject, and tries again what was refused.
async fn publish(store: &CellStore, node: NodeId, traffic: &Traffic, next: impl Fn() -> NewParcel) {
    while !traffic.is_over() {
        let (new, mut refused) = (next(), None);
        loop {
            match store.accept(vec![new.clone()], node).await.as_deref() {
                Ok([AcceptOutcome::New { number: Some(number), .. }]) => {
                    let subject = new.parcel.subject.as_deref().unwrap().to_owned();
                    traffic.accepted.lock().push((subject, *number));
                    break;
                }
                Err(StoreError::Moving(_)) => {
                    refused.get_or_insert_with(Instant::now);
                    tokio::task::yield_now().await;
                }
                other => panic!("{other:?}"),
            }
        }
        if let Some(since) = refused {
            let micros = since.elapsed().as_micros() as u64;
            traffic.refused_for.fetch_max(micros, Ordering::Relaxed);
        }
        // Sleeps so that no more is published than a busy machine delivers.
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// As the engine does.
async fn deliver(store: &CellStore, node: NodeId, traffic: &Traffic) {
    let mut next = claim(node);
    loop {
        let leased_at = Instant::now();
        let claimed = store.claim(next.clone()).await.unwrap();
        next = claim(node);
        next.cursor = claimed.cursor;
        for job in claimed.jobs {
            carry(store, node, traffic, &job, leased_at).await;
        }
    }
}

async fn carry(store: &CellStore, node: NodeId, traffic: &Traffic, job: &Job, leased_at: Instant) {
    match store.lease_status(node, job.tenant, leased_at, TRUSTED) {
        LeaseStatus::Held => {
            let subject = job.parcel.subject.as_deref().unwrap().to_owned();
            traffic.sent.lock().push((subject, job.number.unwrap()));
            let settlement = Settlement { leased_at: Some(leased_at), ..delivered(job) };
            let settled = store.settle(node, vec![settlement]).await.unwrap();
            assert!(matches!(settled[..], [SettleOutcome::Done { .. }]), "{settled:?}");
        }
        LeaseStatus::Doubtful => {
            let (tenant, delivery) = (job.tenant, job.delivery);
            let lease = Lease { tenant, delivery, since: Some(leased_at) };
            store.release(node, vec![lease]).await.unwrap();
        }
        LeaseStatus::Lost => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_moves_while_it_is_in_use() {
    let world = Arc::new(World::new().await);
    let (one, two) =
        (world.node(MoveRules::default()).await, world.node(MoveRules::default()).await);
    let tenant = world.with_tenant(&one).await;
    wait_for("the other node knows the cell", || async {
        (two.list_cells().await.unwrap().len() == 2).then_some(())
    })
    .await;
    let (traffic, target) = (Arc::new(Traffic::default()), world.maker.id());
    let (mut publishing, mut delivering) = (JoinSet::new(), JoinSet::new());
    for (place, store) in [&one, &two].into_iter().enumerate() {
        let node = store.join("node", now()).await.unwrap();
        store.heartbeat(node, now()).await.unwrap();
        for subject in SUBJECTS.into_iter().skip(place).step_by(2) {
            let (store, traffic, world) = (store.clone(), traffic.clone(), world.clone());
            publishing.spawn(async move {
                publish(&store, node, &traffic, || about(&world, tenant, target, subject)).await;
            });
        }
        let (store, traffic) = (store.clone(), traffic.clone());
        delivering.spawn(async move { deliver(&store, node, &traffic).await });
    }
    let count = |at_least: usize| {
        let traffic = traffic.clone();
        move || {
            let traffic = traffic.clone();
            async move { (traffic.accepted.lock().len() >= at_least).then_some(()) }
        }
    };
    wait_for("there is some traffic", count(100)).await;
    one.move_tenant(tenant, "a").await.unwrap();
    let status = ended(&two, tenant, MoveStep::Done).await;
    let so_far = traffic.accepted.lock().len();
    wait_for("there is more traffic", count(so_far + 50)).await;
    // And back, begun by the other node.
    two.move_tenant(tenant, "home").await.unwrap();
    let back = ended(&one, tenant, MoveStep::Done).await;
    traffic.is_over.store(true, Ordering::Relaxed);
    tokio::time::timeout(Duration::from_secs(10), publishing.join_all())
        .await
        .expect("all are accepted");
    let accepted = traffic.accepted.lock().len();
    let all = tokio::time::timeout(Duration::from_secs(20), async {
        while traffic.sent.lock().len() < accepted {
            tokio::select! {
                failed = delivering.join_next() => panic!("{failed:?}"),
                // Sleeps between two looks.
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    });
    let sent = all.await.is_ok();
    assert!(sent, "{} of {accepted} are sent", traffic.sent.lock().len());
    println!("{accepted} accepted, refused for {:?} µs, {status:?}, {back:?}", traffic.refused_for);
    let sent = traffic.sent_per_subject();
    for subject in SUBJECTS {
        let of_subject =
            traffic.accepted.lock().iter().filter(|one| one.0 == subject).count() as u64;
        assert_eq!(sent[subject], (1..=of_subject).collect::<Vec<_>>(), "each once and in order");
    }
    for moved in [status, back] {
        // Mostly some tenths of a second; on a busy machine with one closing that was given up.
        assert!(moved.closed.unwrap() < Duration::from_secs(2), "{moved:?}");
    }
    let refused_for = Duration::from_micros(traffic.refused_for.load(Ordering::Relaxed));
    assert!(refused_for < Duration::from_millis(1500), "{refused_for:?}");
    assert_eq!(world.left("a", tenant).await, Vec::<&str>::new());
}

/// A node that is cut off from the home cell knows nothing of a move.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_has_left_cannot_be_written_in_the_old_cell() {
    let world = World::new().await;
    // What a node holds is waited for, and then taken from it.
    let store = world.node(MoveRules { drain: Duration::ZERO, ..at_once() }).await;
    let tenant = world.with_tenant(&store).await;
    world.fill("home", tenant, 5).await;
    let ignorant = PostgresStore::connect(&world.url("home"), Options::default()).await.unwrap();
    let node = ignorant.join("ignorant", now()).await.unwrap();
    ignorant.accept(vec![world.maker.event(tenant)], node).await.unwrap();
    let held = ignorant.claim(claim(node)).await.unwrap().jobs;
    assert_eq!(held.len(), 1);
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;

    let accepted = ignorant.accept(vec![world.maker.event(tenant)], node).await;
    assert!(matches!(accepted, Err(StoreError::Moving(_))), "{accepted:?}");
    let settled = ignorant.settle(node, vec![delivered(&held[0])]).await.unwrap();
    assert!(matches!(settled[..], [SettleOutcome::LeaseLost]), "{settled:?}");
    assert!(ignorant.claim(claim(node)).await.unwrap().jobs.is_empty());
    let other = world.maker.id();
    ignorant.accept(vec![world.maker.event(other)], node).await.unwrap();
    assert_eq!(world.left("home", tenant).await, Vec::<&str>::new());

    // It is delivered in the new cell.
    let node = store.join("node", now()).await.unwrap();
    store.heartbeat(node, now()).await.unwrap();
    let again = crate::stage::take_all(&store, node).await;
    assert!(again.iter().any(|job| job.delivery == held[0].delivery), "{again:?}");
}
