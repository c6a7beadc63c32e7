//! The server crashes under load and restarts. What was acknowledged exists, what was refused does not, and
//! the store recovers by itself.

use std::{sync::Arc, time::Duration};

use gancho_domain::{ParcelId, TenantId, TenantScope};
use gancho_store::{Accept, Deliveries, Nodes, StoreError};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::{
    postgres::{Database, Postgres, fresh_database, fresh_database_on},
    wait_for,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::world::{ParcelGenerator, now, open};

type Answers = Vec<(TenantId, ParcelId, Result<(), StoreError>)>;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_when_the_server_crashes() {
    let server = Postgres::start(&[]).unwrap();
    let database = fresh_database_on(&server.url("postgres")).await.unwrap();
    let store = open(&database).await;
    let stop = CancellationToken::new();
    let load = start_load(&store, &stop).await;
    for _ in 0..3 {
        // Sleeps so that the server crashes under load.
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.stop_at_once().unwrap();
        // Sleeps so that callers find it down.
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.start_again().unwrap();
        wait_until_it_accepts(&store).await;
    }
    stop.cancel();
    check(&store, load).await;
}

/// Connections that break at any moment, including at a commit, while the server keeps running.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_true_when_connections_break() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let stop = CancellationToken::new();
    let load = start_load(&store, &stop).await;
    break_connections(&database).await;
    stop.cancel();
    check(&store, load).await;
}

async fn break_connections(database: &Database) {
    let client = database.client().await.unwrap();
    for _ in 0..60 {
        // Sleeps so that some calls end before the next connections break.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        client.execute(sql, &[]).await.unwrap();
    }
}

async fn start_load(
    store: &Arc<PostgresStore>,
    stop: &CancellationToken,
) -> Vec<JoinHandle<Answers>> {
    let make = Arc::new(ParcelGenerator::new());
    let node = store.join("loads", now()).await.unwrap();
    (0..8)
        .map(|_| {
            let (store, stop, make) = (store.clone(), stop.clone(), make.clone());
            tokio::spawn(async move {
                let (tenant, target) = (make.tenant(), make.target());
                let mut answers = Vec::new();
                while !stop.is_cancelled() {
                    let new = make.event(tenant, target);
                    let id = new.parcel.id;
                    let answer = store.accept(vec![new], node).await;
                    answers.push((tenant, id, answer.map(drop)));
                    // Sleeps as a caller does between two calls.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                answers
            })
        })
        .collect()
}

async fn wait_until_it_accepts(store: &PostgresStore) {
    let make = ParcelGenerator::new();
    let node = wait_for("the server is back", || async {
        let joined = store.join("waits", now()).await;
        let error = joined.as_ref().err();
        assert!(
            error.is_none_or(|error| matches!(error, StoreError::Unavailable(_))),
            "{joined:?}"
        );
        joined.ok()
    })
    .await;
    wait_for("the store accepts again", || async {
        store.accept(vec![make.event(make.tenant(), make.target())], node).await.ok()
    })
    .await;
}

async fn check(store: &PostgresStore, load: Vec<JoinHandle<Answers>>) {
    let (mut kept, mut refused) = (0, 0);
    for one in load {
        for (tenant, id, answer) in one.await.unwrap() {
            let there = wait_for("the store answers", || async {
                let found = store.event(TenantScope::internal(tenant), id).await;
                found.ok().map(|found| found.is_some())
            })
            .await;
            match answer {
                Ok(()) => assert!(there, "{id} was acknowledged and is lost"),
                Err(StoreError::Unavailable(_)) => assert!(!there, "{id} was refused and is there"),
                Err(other) => panic!("{other}"),
            }
            if there { kept += 1 } else { refused += 1 }
        }
    }
    assert!(kept > 10, "{kept} were accepted");
    assert!(refused > 0, "nothing broke");
}
