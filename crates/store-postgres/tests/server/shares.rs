//! Sessions with the database, which tenants share.

use std::sync::Arc;

use gancho_domain::{TenantId, TenantScope};
use gancho_store::{Endpoints, Nodes, Usage};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::postgres::{Database, fresh_database};
use tokio::task::JoinSet;

use crate::world::{ParcelGenerator, accept, claim, now, open};

const PERIOD: &str = "2026-11";

/// faults.md section 0: a tenant's calls wait for each other's row lock, but take no sessions from other
/// tenants.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_for_a_lock_of_their_tenant_leave_sessions_to_others() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let (busy, other) = (make.tenant(), make.tenant());
    spend(&store, busy).await;
    let mut holder = database.client().await.unwrap();
    let lock = holder.transaction().await.unwrap();
    lock.execute("select from usage for update", &[]).await.unwrap();

    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let store = store.clone();
        calls.spawn(async move { spend(&store, busy).await });
    }
    wait_for_waiters(&database).await;

    let node = store.join("shares", now()).await.unwrap();
    accept(&store, make.event(other, make.target()), node).await;
    assert_eq!(claim(&store, node).await.jobs.len(), 1);
    assert_eq!(store.endpoints(TenantScope::internal(other)).await.unwrap(), []);
    spend(&store, other).await;

    lock.rollback().await.unwrap();
    calls.join_all().await;
    let used = store.used(TenantScope::internal(busy), PERIOD).await.unwrap();
    assert_eq!(used, 101);
}

async fn spend(store: &Arc<PostgresStore>, tenant: TenantId) {
    let scope = TenantScope::internal(tenant);
    let charge = store.spend(scope, PERIOD, 1, 1_000).await.unwrap();
    assert_eq!(charge.granted, 1);
}

/// Waits until the maximum number of calls waits for the lock: the others have no session.
async fn wait_for_waiters(database: &Database) {
    let watch = database.client().await.unwrap();
    let sql = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    let (mut waiting, mut unchanged) = (0_i64, 0);
    while unchanged < 1_000 {
        let now = watch.query_one(sql, &[]).await.unwrap().get(0);
        unchanged = if now == waiting && now > 0 { unchanged + 1 } else { 0 };
        waiting = now;
    }
}
