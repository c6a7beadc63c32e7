//! Rows that are not visible from outside are removed too: spans and subjects. (faults.md 13, 14)

use std::{path::Path, sync::Arc, time::Duration};

use gancho_domain::{Clock, IdMaker, NextStep, SeededRandom, SystemClock};
use gancho_store::{Accept, Claiming, Settle, Settlement, TargetId, Upkeep};
use gancho_store_sqlite::{Options, SqliteStore};

use crate::world::{NODE, claim_at, event};

async fn deliver_all(store: &SqliteStore) {
    let jobs = store.claim(claim_at(SystemClock.now())).await.unwrap().jobs;
    let done = |job| Settlement::of(job, SystemClock.now(), None, NextStep::Delivered);
    store.settle(NODE, jobs.iter().map(done).collect()).await.unwrap();
}

/// Runs rounds of upkeep for which everything created until now is old.
async fn prune(store: &SqliteStore) -> u64 {
    let now = SystemClock.now() + Duration::from_mins(5);
    let mut gone = 0;
    loop {
        let step = store.prune(now, 500, now).await.unwrap();
        gone += step.parcels;
        if !step.more {
            return gone;
        }
    }
}

fn count(path: &Path, table: &str) -> i64 {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

/// A delivery that waits for a year is before all others, and keeps only its own rows.
#[tokio::test]
async fn spans_and_subjects_go_with_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let (tenant, waits) = (ids.make(), ids.make());
    let now = SystemClock.now();
    let late = event(&ids, tenant, &[waits], now + Duration::from_hours(24 * 365));
    store.accept(vec![late], NODE).await.unwrap();
    let targets: Vec<TargetId> = (0..30).map(|_| ids.make()).collect();
    for _ in 0..5 {
        let batch = (0..20).map(|_| event(&ids, tenant, &targets, now)).collect();
        store.accept(batch, NODE).await.unwrap();
    }
    assert!(count(&path, "spans") >= 31);
    assert_eq!(count(&path, "subjects"), 101);
    deliver_all(&store).await;
    assert_eq!(prune(&store).await, 100);
    assert_eq!((count(&path, "spans"), count(&path, "subjects")), (1, 1));
    assert_eq!((count(&path, "parcels"), count(&path, "deliveries")), (1, 1));
}

/// Empty spans, as earlier versions could leave them: more than a step scans.
#[tokio::test]
async fn spans_that_were_left_behind_go_in_one_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    drop(SqliteStore::open(&Options::at(&path)).unwrap());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 12000)
         INSERT INTO spans (tenant_id, target_id, lane, span)
         SELECT randomblob(16), randomblob(16), 2, n / 3 FROM n",
    )
    .unwrap();
    drop(db);
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let far = SystemClock.now() + Duration::from_hours(24);
    let waits = event(&ids, ids.make(), &[ids.make()], far);
    store.accept(vec![waits], NODE).await.unwrap();
    prune(&store).await;
    assert_eq!(count(&path, "spans"), 1);
}
