//! Rows that are not visible from outside are removed too: keys, spans and subjects.
//! (faults.md 12, 13, 14, 26)

use std::{sync::Arc, time::Duration};

use gancho_store::{
    Accept, AcceptOutcome, IdempotencyKey, NewParcel, NodeId, Nodes, Settle, TargetId, Upkeep,
};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::{
    postgres::{Database, fresh_database},
    wait_for,
};

use crate::world::{ParcelGenerator, claim, delivered, now, open};

/// Runs rounds of upkeep for which everything created until now is old. Returns the number of steps.
async fn prune(store: &PostgresStore) -> usize {
    let later = now() + Duration::from_mins(5);
    for steps in 1.. {
        if !store.prune(later, 500, later).await.unwrap().more {
            return steps;
        }
    }
    0
}

async fn count(database: &Database, table: &str) -> i64 {
    let client = database.client().await.unwrap();
    let sql = format!("select count(*) from {table}");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

async fn deliver_all(store: &PostgresStore, node: NodeId) {
    loop {
        let jobs = claim(store, node).await.jobs;
        if jobs.is_empty() {
            return;
        }
        store.settle(node, jobs.iter().map(delivered).collect()).await.unwrap();
    }
}

/// A delivery that waits for a year keeps only its own rows.
#[tokio::test(flavor = "multi_thread")]
async fn spans_and_subjects_go_with_what_is_in_them() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("prunes", now()).await.unwrap();
    let tenant = make.tenant();
    let mut late = make.about(tenant, make.target(), "late");
    late.deliveries[0].due_at = now() + Duration::from_secs(365 * 86_400);
    store.accept(vec![late], node).await.unwrap();
    let targets: Vec<TargetId> = (0..20).map(|_| make.target()).collect();
    let about = |target: &TargetId| make.about(tenant, *target, &target.to_string());
    for _ in 0..5 {
        store.accept(targets.iter().map(about).collect(), node).await.unwrap();
    }
    assert!(count(&database, "spans").await >= 21);
    assert_eq!(count(&database, "subjects").await, 21);
    deliver_all(&store, node).await;
    prune(&store).await;
    for table in ["spans", "subjects", "parcels", "deliveries"] {
        assert_eq!(count(&database, table).await, 1, "{table}");
    }
}

/// As earlier versions could leave them: more than a step removes.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_behind_goes_in_one_round() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let client = database.client().await.unwrap();
    client
        .batch_execute(
            "insert into once_keys (tenant_id, key, content, parcel_id, made_at, until)
             select gen_random_uuid(), sha256(n::text::bytea), 'x', gen_random_uuid(), n, n
             from generate_series(1, 12000) n;
             insert into spans (tenant_id, target_id, from_id, to_id, lane)
             select gen_random_uuid(), gen_random_uuid(), lpad(to_hex(n / 3), 32, '0')::uuid,
                 lpad(to_hex(n / 3 + 1), 32, '0')::uuid, 2
             from generate_series(1, 12000) n;
             insert into nodes (name, beat_at, is_dead)
             select 'crashed', now(), true from generate_series(1, 1000)",
        )
        .await
        .unwrap();
    assert!(prune(&store).await > 2, "in small steps");
    for table in ["once_keys", "spans", "nodes"] {
        assert_eq!(count(&database, table).await, 0, "{table}");
    }
}

/// faults.md 26: an expired key is claimed again, and before that commits, the node that prunes finds it
/// expired.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_claimed_again_is_not_forgotten() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let (tenant, start) = (make.tenant(), now());
    let keyed = |until| NewParcel {
        once: Some(IdempotencyKey { key: [7; 32], content: [8; 32], until }),
        ..make.event(tenant, make.target())
    };
    store.accept(vec![keyed(start)], NodeId(0)).await.unwrap();

    let client = database.client().await.unwrap();
    let until = (start + Duration::from_secs(86_400)).micros();
    client.batch_execute("begin").await.unwrap();
    client.execute("update once_keys set until = $1", &[&until]).await.unwrap();
    let pruning = {
        let store: Arc<PostgresStore> = store.clone();
        tokio::spawn(async move { store.prune(start, 100, now()).await })
    };
    let watch = database.client().await.unwrap();
    let blocked = "select count(*) > 0 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    wait_for("pruning waits for the lock", || async {
        watch.query_one(blocked, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    client.batch_execute("commit").await.unwrap();
    pruning.await.unwrap().unwrap();
    let answer = store.accept(vec![keyed(start)], NodeId(0)).await.unwrap();
    assert!(matches!(answer[..], [AcceptOutcome::Again { .. }]), "{answer:?}");
}
