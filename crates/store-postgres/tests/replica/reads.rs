//! Lists from a standby, and from the primary if the standby lags or is down.

use std::sync::Arc;

use gancho_domain::{TenantId, TenantScope};
use gancho_store::{Deliveries, DeliveryFilter, Nodes, PageRequest, StoreError};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    postgres::{Postgres, connect_to, fresh_database, fresh_database_on},
    wait_for,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::world::{ParcelGenerator, accept, now};

fn with_replica(url: &str, read: &str) -> String {
    format!("{url}&read={}", utf8_percent_encode(read, NON_ALPHANUMERIC))
}

async fn listed(store: &PostgresStore, tenant: TenantId) -> usize {
    let filter = DeliveryFilter::default();
    let page = store.deliveries(TenantScope::internal(tenant), filter, PageRequest::first(100));
    page.await.unwrap().rows.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_from_the_replica_while_it_is_of_use() {
    let primary = Postgres::start(&[]).unwrap();
    let database = fresh_database_on(&primary.url("postgres")).await.unwrap();
    let standby = primary.start_standby().unwrap();
    let url = with_replica(&database.url(), &standby.url(database.name()));
    let store = PostgresStore::connect(&url, Options::default()).await.unwrap();
    let reader: Arc<PostgresStore> = store.reader().expect("a replica is configured");
    let make = ParcelGenerator::new();
    let (tenant, target) = (make.tenant(), make.target());
    let node = store.join("writes", now()).await.unwrap();
    accept(&store, make.event(tenant, target), node).await;
    wait_for("it is replicated", || async { (listed(&reader, tenant).await == 1).then_some(()) })
        .await;

    // Replication stands still, so the list is that of the replica.
    let on_standby = connect_to(&standby.url(database.name())).await.unwrap();
    on_standby.batch_execute("select pg_wal_replay_pause()").await.unwrap();
    wait_for("it stands still", || async {
        let state = "select pg_get_wal_replay_pause_state() = 'paused'";
        on_standby.query_one(state, &[]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    let late = accept(&store, make.event(tenant, target), node).await;
    assert_eq!((listed(&store, tenant).await, listed(&reader, tenant).await), (2, 1));
    // A delivery by its id is always read from the primary.
    let found = reader.delivery(TenantScope::internal(tenant), late).await.unwrap();
    assert!(found.is_some());

    wait_for("it is too far behind", || async {
        store.heartbeat(node, now()).await.unwrap();
        (listed(&reader, tenant).await == 2).then_some(())
    })
    .await;

    on_standby.batch_execute("select pg_wal_replay_resume()").await.unwrap();
    wait_for("it is of use again", || async {
        let reads = "select count(*) from pg_stat_activity where application_name = 'gancho' and query ilike '%deliveries%'";
        listed(&reader, tenant).await;
        let reads: i64 = on_standby.query_one(reads, &[]).await.unwrap().get(0);
        (reads > 0).then_some(())
    })
    .await;
    standby.kill().unwrap();
    wait_for("lists come from the primary", || async {
        let filter = DeliveryFilter::default();
        let page = reader.deliveries(TenantScope::internal(tenant), filter, PageRequest::first(9));
        page.await.ok().filter(|page| page.rows.len() == 2)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_of_another_database_is_refused_and_one_that_is_down_is_not() {
    let (database, other) = (fresh_database().await.unwrap(), fresh_database().await.unwrap());
    let url = with_replica(&database.url(), &other.url());
    let refused = PostgresStore::connect(&url, Options::default()).await.err();
    let Some(StoreError::Refused(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("database_read_url"), "{text}");

    let url = with_replica(&database.url(), "postgres://postgres@127.0.0.1:1/none?sslmode=disable");
    let store = PostgresStore::connect(&url, Options::default()).await.unwrap();
    let make = ParcelGenerator::new();
    let tenant = make.tenant();
    let node = store.join("writes", now()).await.unwrap();
    accept(&store, make.event(tenant, make.target()), node).await;
    assert_eq!(listed(&store.reader().unwrap(), tenant).await, 1);
}
