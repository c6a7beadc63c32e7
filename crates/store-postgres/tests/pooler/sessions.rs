//! Stores behind pgbouncer in transaction mode, where every transaction may have another connection.

use std::{sync::Arc, time::Duration};

use gancho_domain::TenantScope;
use gancho_store::{Accept, Deliveries, Nodes, Settle, Store, StoreError};
use gancho_store_postgres::{Options, PostgresStore, schema_version};
use gancho_testkit::{
    pgbouncer::PgBouncer,
    postgres::{Database, connect_to, fresh_database},
    wait_for,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::timeout;

use crate::world::{ParcelGenerator, accept, claim, delivered, now};

/// Adds `database_direct_url` to a URL.
pub fn with_direct(url: &str, direct: &str) -> String {
    format!("{url}&direct={}", utf8_percent_encode(direct, NON_ALPHANUMERIC))
}

async fn start() -> (Database, PgBouncer) {
    let database = fresh_database().await.unwrap();
    let pgbouncer = PgBouncer::start(database.server()).unwrap();
    (database, pgbouncer)
}

async fn open(url: &str) -> Arc<PostgresStore> {
    PostgresStore::connect(url, Options::default()).await.unwrap()
}

async fn deliver(store: &PostgresStore) {
    let make = ParcelGenerator::new();
    let node = store.join("delivers", now()).await.unwrap();
    let tenant = make.tenant();
    let id = accept(store, make.event(tenant, make.target()), node).await;
    let jobs = claim(store, node).await.jobs;
    assert_eq!(jobs.iter().map(|job| job.delivery).collect::<Vec<_>>(), [id]);
    store.settle(node, vec![delivered(&jobs[0])]).await.unwrap();
    let view = store.delivery(TenantScope::internal(tenant), id).await.unwrap().unwrap();
    assert_eq!(view.attempts.len(), 1);
}

/// Without configuration, and without an address for `LISTEN`.
#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_is_recognized() {
    let (database, pgbouncer) = start().await;
    let url = pgbouncer.url(database.name());
    assert_eq!(schema_version(&url).await.unwrap().found, 0);
    deliver(&*open(&url).await).await;
    let version = schema_version(&url).await.unwrap();
    assert_eq!(version.found, version.known);
}

/// Whatever one client leaves in a connection, another would find.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_in_the_poolers_connections() {
    let (database, pgbouncer) = start().await;
    let url = pgbouncer.url(database.name());
    let first = open(&url).await;
    let second = open(&format!("{url}&schema=elsewhere")).await;
    for _ in 0..5 {
        tokio::join!(deliver(&first), deliver(&second));
    }
    let budget = (0..20).map(|_| async {
        let client = connect_to(&url).await.unwrap();
        // Long enough that the next one gets another connection.
        let sql = "select pg_backend_pid(), current_setting('enable_seqscan'), current_setting('search_path'), \
            (select count(*) from pg_prepared_statements), pg_sleep(0.05)";
        let found = client.simple_query(sql).await.unwrap();
        found.iter().find_map(|one| match one {
            tokio_postgres::SimpleQueryMessage::Row(row) => {
                Some((0..4).map(|at| row.get(at).unwrap().to_owned()).collect::<Vec<_>>())
            }
            _ => None,
        })
    });
    let found: Vec<_> =
        futures_util::future::join_all(budget).await.into_iter().flatten().collect();
    let connections: std::collections::BTreeSet<_> = found.iter().map(|one| &one[0]).collect();
    assert!(connections.len() > 1, "{found:?}");
    for one in &found {
        assert_eq!(one[1..], ["on", "\"$user\", public", "0"], "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_wake_each_other_by_the_direct_address() {
    let (database, pgbouncer) = start().await;
    let url = with_direct(&pgbouncer.url(database.name()), &database.url());
    let (first, second) = (open(&url).await, open(&url).await);
    let node = first.join("accepts", now()).await.unwrap();
    let make = ParcelGenerator::new();
    let bell = second.bell();
    wait_for("the other node is woken", || async {
        accept(&first, make.event(make.tenant(), make.target()), node).await;
        timeout(Duration::from_millis(500), bell.notified()).await.ok()
    })
    .await;
    // The ring was not that of a new connection.
    accept(&first, make.event(make.tenant(), make.target()), node).await;
    timeout(Duration::from_secs(5), bell.notified()).await.expect("it is woken again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_address_of_another_database_is_refused() {
    let (database, pgbouncer) = start().await;
    let other = fresh_database().await.unwrap();
    let url = with_direct(&pgbouncer.url(database.name()), &other.url());
    let refused = PostgresStore::connect(&url, Options::default()).await.err();
    let Some(StoreError::Refused(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("database_direct_url"), "{text}");
}

/// Two nodes under load; the pooler is killed and restarted. What was acknowledged exists, and what was
/// refused does not.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_true_when_the_pooler_crashes() {
    let (database, mut pgbouncer) = start().await;
    let url = pgbouncer.url(database.name());
    let stores = [open(&url).await, open(&url).await];
    let make = Arc::new(ParcelGenerator::new());
    let stop = tokio_util::sync::CancellationToken::new();
    let mut load = Vec::new();
    for n in 0..8 {
        let (store, stop, make) = (stores[n % 2].clone(), stop.clone(), make.clone());
        let node = store.join("loads", now()).await.unwrap();
        load.push(tokio::spawn(async move {
            let (tenant, target) = (make.tenant(), make.target());
            let mut answers = Vec::new();
            while !stop.is_cancelled() {
                let new = make.event(tenant, target);
                let id = new.parcel.id;
                answers.push((tenant, id, store.accept(vec![new], node).await.map(drop)));
                // Sleeps as a caller does between two calls.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            answers
        }));
    }
    for _ in 0..3 {
        // Sleeps so that it crashes under load.
        tokio::time::sleep(Duration::from_millis(300)).await;
        pgbouncer.stop_at_once();
        // Sleeps so that callers find it down.
        tokio::time::sleep(Duration::from_millis(100)).await;
        pgbouncer.start_again().unwrap();
        for store in &stores {
            wait_for("the store accepts again", || async {
                let node = store.join("waits", now()).await.ok()?;
                store.accept(vec![make.event(make.tenant(), make.target())], node).await.ok()
            })
            .await;
        }
    }
    stop.cancel();
    let (mut kept, mut refused) = (0, 0);
    for one in load {
        for (tenant, id, answer) in one.await.unwrap() {
            let found = stores[0].event(TenantScope::internal(tenant), id).await.unwrap();
            match answer {
                Ok(()) => assert!(found.is_some(), "{id} was acknowledged and is lost"),
                Err(StoreError::Unavailable(_)) => {
                    assert!(found.is_none(), "{id} was refused and is there");
                }
                Err(other) => panic!("{other}"),
            }
            if found.is_some() { kept += 1 } else { refused += 1 }
        }
    }
    println!("{kept} accepted, {refused} refused");
    assert!(kept > 10 && refused > 0, "{kept} accepted, {refused} refused");
}
