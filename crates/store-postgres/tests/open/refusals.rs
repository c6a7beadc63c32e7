//! Servers and databases that are refused, with the text of the refusal.

use gancho_store::StoreError;
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::postgres::{Postgres, fresh_database, fresh_database_on};

use crate::world::open;

async fn refusal(url: &str) -> String {
    match PostgresStore::connect(url, Options::default()).await {
        Err(StoreError::Refused(text)) => text,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_flush() {
    let server = Postgres::start(&["fsync=off"]).unwrap();
    let database = fresh_database_on(&server.url("postgres")).await.unwrap();
    let text = refusal(&database.url()).await;
    assert!(text.contains("fsync = off") && text.contains("set fsync = on"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_tear_pages() {
    let server = Postgres::start(&["full_page_writes=off"]).unwrap();
    let database = fresh_database_on(&server.url("postgres")).await.unwrap();
    let text = refusal(&database.url()).await;
    assert!(text.contains("full_page_writes = off"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_acknowledges_too_early() {
    let database = fresh_database().await.unwrap();
    let client = database.client().await.unwrap();
    let set = "do $$ begin execute format('alter database %I set synchronous_commit = off',
        current_database()); end $$";
    client.batch_execute(set).await.unwrap();
    let text = refusal(&database.url()).await;
    assert!(text.contains("synchronous_commit is off"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database() {
    let database = fresh_database().await.unwrap();
    drop(open(&database).await);
    let client = database.client().await.unwrap();
    let add = "insert into schema_migrations (number, name, checksum) values (999, 'later', 0)";
    client.batch_execute(add).await.unwrap();
    let text = refusal(&database.url()).await;
    assert!(text.contains("newer version") && text.contains("step 999"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_build() {
    let database = fresh_database().await.unwrap();
    drop(open(&database).await);
    let client = database.client().await.unwrap();
    client.batch_execute("update schema_migrations set checksum = 1").await.unwrap();
    let text = refusal(&database.url()).await;
    assert!(text.contains("differs"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_together_migrate_once() {
    let database = fresh_database().await.unwrap();
    let opened = (0..4).map(|_| {
        let url = database.url();
        tokio::spawn(async move { PostgresStore::connect(&url, Options::default()).await.err() })
    });
    for one in opened.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_url_that_is_none() {
    let text = refusal("nonsense").await;
    assert!(text.contains("postgres://"), "{text}");
    assert!(!refusal("postgres://u:secret@h:x/").await.contains("secret"));
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let url = "postgres://u@127.0.0.1:1/none?sslmode=disable";
    match PostgresStore::connect(url, Options::default()).await {
        Err(StoreError::Unavailable(_)) => {}
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

/// Nodes compare their clocks with it.
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_the_server_can_be_read() {
    use gancho_domain::{Clock, SystemClock};
    use gancho_store::Upkeep;

    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let before = SystemClock.now();
    let found = store.server_time().await.unwrap().unwrap();
    let minute = std::time::Duration::from_secs(60);
    assert!(before - minute < found && found < SystemClock.now() + minute, "{found}");
}
