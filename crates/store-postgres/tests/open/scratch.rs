//! A database for one run: empty when it is created, and deleted when it is removed.

use gancho_store::{Nodes, StoreError};
use gancho_store_postgres::{Options, PostgresStore, ScratchDatabase};
use gancho_testkit::postgres::fresh_database;

use crate::world::now;

#[tokio::test(flavor = "multi_thread")]
async fn a_scratch_database_goes_while_it_is_in_use() {
    let given = fresh_database().await.unwrap();
    let name = format!("gancho_scratch_{}", std::process::id());
    let scratch = ScratchDatabase::create(&given.url(), &name).await.unwrap();
    let url = scratch.url();
    let store = PostgresStore::connect(&url, Options::default()).await.unwrap();
    store.join("bench", now()).await.unwrap();
    scratch.remove().await.unwrap();
    assert!(PostgresStore::connect(&url, Options::default()).await.is_err());
    assert!(store.join("bench", now()).await.is_err());

    let refused = ScratchDatabase::create(&given.url(), "a; drop database b").await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
}
