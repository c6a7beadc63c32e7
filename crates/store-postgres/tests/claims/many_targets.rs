//! Claims among very many targets.

use std::{sync::Arc, time::Duration};

use gancho_domain::Lane;
use gancho_store::{
    Accept, Claim, ClaimCursor, ClaimExclusions, ClaimResult, Claiming, NodeId, Nodes,
};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::postgres::fresh_database;

use crate::world::{ParcelGenerator, accept, now, open};

/// Two thousand targets, more than a claim scans, have deliveries that wait until tomorrow, and a few have
/// due ones.
#[tokio::test(flavor = "multi_thread")]
async fn the_due_are_found_among_very_many_that_are_not() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("claims", now()).await.unwrap();
    let tomorrow = now() + Duration::from_secs(86_400);
    let tenant = make.tenant();
    let mut due = Vec::new();
    for round in 0..4 {
        let mut batch = Vec::new();
        for _ in 0..500 {
            let mut later = make.event(tenant, make.target());
            later.deliveries[0].due_at = tomorrow;
            batch.push(later);
        }
        store.accept(batch, node).await.unwrap();
        let owner = if round % 2 == 0 { tenant } else { make.tenant() };
        due.push(accept(&store, make.event(owner, make.target()), node).await);
    }

    // More is due than can be taken, so the targets are walked, and the walk does not get far.
    let first =
        claim_up_to(&store, node, 3, ClaimExclusions::default(), ClaimCursor::default()).await;
    assert_eq!(first.jobs.len(), 3);
    assert!(first.more);
    let second = claim_up_to(&store, node, 3, ClaimExclusions::default(), first.cursor).await;
    assert_eq!(second.jobs.len(), 1);
    assert!(!second.more);
    assert_eq!(second.next_due, Some(tomorrow));
    let jobs = first.jobs.iter().chain(&second.jobs);
    let mut found: Vec<_> = jobs.map(|job| job.delivery).collect();
    found.sort_unstable();
    assert_eq!(found, due);
}

async fn claim_up_to(
    store: &PostgresStore,
    node: NodeId,
    max: usize,
    skip: ClaimExclusions,
    cursor: ClaimCursor,
) -> ClaimResult {
    store
        .claim(Claim {
            node,
            lane: Lane::Webhook,
            now: now(),
            max,
            max_bytes: 1 << 20,
            per_target: 50,
            per_proven: 50,
            per_tenant: 50,
            proven: Arc::default(),
            skip: Arc::new(skip),
            first: Vec::new(),
            cursor,
        })
        .await
        .unwrap()
}

/// All of many due deliveries belong to a paused tenant: they are skipped, and the caller does not repeat the
/// claim at once forever.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_backlog_is_passed_over() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("claims", now()).await.unwrap();
    let (paused, other) = (make.tenant(), make.tenant());
    let batch = (0..500).map(|_| make.event(paused, make.target())).collect();
    store.accept(batch, node).await.unwrap();
    let skip = ClaimExclusions { tenants: [paused].into(), ..ClaimExclusions::default() };
    let nothing = claim_up_to(&store, node, 5, skip.clone(), ClaimCursor::default()).await;
    assert!(nothing.jobs.is_empty() && !nothing.more && nothing.next_due.is_none());
    let id = accept(&store, make.event(other, make.target()), node).await;
    let one = claim_up_to(&store, node, 5, skip, ClaimCursor::default()).await;
    assert_eq!(one.jobs[0].delivery, id);
}

/// With every target skipped, a claim neither takes anything nor asks to be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_skipped_is_not_more() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("claims", now()).await.unwrap();
    let (tenant, target) = (make.tenant(), make.target());
    accept(&store, make.event(tenant, target), node).await;
    for skip in [
        ClaimExclusions { tenants: [tenant].into(), ..ClaimExclusions::default() },
        ClaimExclusions { targets: [target].into(), ..ClaimExclusions::default() },
    ] {
        let claimed = claim_up_to(&store, node, 50, skip, ClaimCursor::default()).await;
        assert!(claimed.jobs.is_empty() && !claimed.more && claimed.next_due.is_none());
    }
}

/// A row that cannot be read delays only itself.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_put_off() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("claims", now()).await.unwrap();
    let (tenant, target) = (make.tenant(), make.target());
    let broken = accept(&store, make.event(tenant, target), node).await;
    let client = database.client().await.unwrap();
    client.batch_execute("update parcels set kind = 99").await.unwrap();
    let same = accept(&store, make.event(tenant, target), node).await;
    let other = accept(&store, make.event(make.tenant(), make.target()), node).await;

    let first =
        claim_up_to(&store, node, 50, ClaimExclusions::default(), ClaimCursor::default()).await;
    let mut taken: Vec<_> = first.jobs.iter().map(|job| job.delivery).collect();
    taken.sort_unstable();
    assert_eq!(taken, [same, other]);
    let second =
        claim_up_to(&store, node, 50, ClaimExclusions::default(), ClaimCursor::default()).await;
    assert_eq!((second.jobs.len(), second.more), (0, false));
    assert!(second.next_due.is_some_and(|at| at > now() + Duration::from_secs(250)));

    // Once it can be read, it is delivered.
    client
        .batch_execute(
            "update parcels set kind = 2; update deliveries set due_at = 0 where state = 2",
        )
        .await
        .unwrap();
    let third =
        claim_up_to(&store, node, 50, ClaimExclusions::default(), ClaimCursor::default()).await;
    assert_eq!(third.jobs.iter().map(|job| job.delivery).collect::<Vec<_>>(), [broken]);
}
