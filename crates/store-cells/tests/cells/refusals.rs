//! Databases that cannot be cells of this gateway are refused by name, and the rest goes on.

use std::sync::Arc;

use gancho_store::{StoreError, Tenants};
use gancho_store_cells::{CellSetup, CellStore};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::postgres::fresh_database;

use crate::stage::{ParcelGenerator, PlainSecrets, in_schema, open};

fn refused(result: Result<(), StoreError>) -> String {
    match result {
        Err(StoreError::Refused(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_cell_is_refused() {
    let database = fresh_database().await.unwrap();
    let url = |schema: &str| in_schema(&database.url(), schema);
    let store = open(&url("home"), Options::default()).await.unwrap();
    store.add_cell("a", &url("a")).await.unwrap();

    let text = refused(store.add_cell("Ä b", &url("x")).await);
    assert!(text.contains("lowercase"), "{text}");
    let text = refused(store.add_cell("b", &url("home")).await);
    assert!(text.contains("cell b") && text.contains("home cell"), "{text}");
    let text = refused(store.add_cell("b", &url("a")).await);
    assert!(text.contains("the cell a already"), "{text}");
    assert!(matches!(store.add_cell("a", &url("x")).await, Err(StoreError::Taken(_))));
    let nowhere = "postgres://u:hunter2@127.0.0.1:1/d";
    let text = refused(store.add_cell("b", nowhere).await);
    assert!(text.contains("cell b") && !text.contains("hunter2"), "{text}");

    // A database that is in use.
    let other = open(&url("other"), Options::default()).await.unwrap();
    ParcelGenerator::new().tenant(&other).await.unwrap();
    let text = refused(store.add_cell("b", &url("other")).await);
    assert!(text.contains("has tenants"), "{text}");
    // The cell of another gateway.
    other.add_cell("theirs", &url("theirs")).await.unwrap();
    let text = refused(store.add_cell("b", &url("theirs")).await);
    assert!(text.contains("another gateway, as its cell theirs"), "{text}");
    // A cell is no home.
    let text = open(&url("a"), Options::default()).await.err().unwrap().to_string();
    assert!(text.contains("the cell a of a gateway"), "{text}");

    assert_eq!(store.list_cells().await.unwrap().len(), 2, "nothing was added");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_cannot_be_opened_is_named_and_the_others_go_on() {
    let database = fresh_database().await.unwrap();
    let url = |schema: &str| in_schema(&database.url(), schema);
    let store = open(&url("home"), Options::default()).await.unwrap();
    for cell in ["lost", "newer", "fine"] {
        store.add_cell(cell, &url(cell)).await.unwrap();
    }
    drop(store);
    let client = database.client().await.unwrap();
    client.batch_execute("drop schema lost cascade").await.unwrap();
    let newer =
        "insert into newer.schema_migrations (number, name, checksum) values (9999, 'later', 1)";
    client.batch_execute(newer).await.unwrap();

    let store = open(&url("home"), Options::default()).await.unwrap();
    let cells = store.list_cells().await.unwrap();
    let trouble: Vec<_> =
        cells.iter().map(|cell| cell.trouble.clone().unwrap_or_default()).collect();
    assert_eq!((trouble[0].as_str(), trouble[3].as_str()), ("", ""));
    assert!(trouble[1].contains("not a cell of this gateway"), "{trouble:?}");
    assert!(trouble[2].contains("upgrade this node"), "{trouble:?}");
    for _ in 0..4 {
        ParcelGenerator::new().tenant(&store).await.unwrap();
    }
    let counts: Vec<_> =
        store.list_cells().await.unwrap().iter().map(|cell| cell.tenants).collect();
    assert_eq!(counts, [2, 0, 0, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_another_key_ring_uses_no_cell() {
    let database = fresh_database().await.unwrap();
    let url = |schema: &str| in_schema(&database.url(), schema);
    let store = open(&url("home"), Options::default()).await.unwrap();
    store.add_cell("a", &url("a")).await.unwrap();

    let home = PostgresStore::connect(&url("home"), Options::default()).await.unwrap();
    let setup = CellSetup::new(Options::default(), Arc::new(PlainSecrets("another")));
    let stranger = CellStore::open(home, setup).await.unwrap();
    let trouble = stranger.list_cells().await.unwrap()[1].trouble.clone().unwrap();
    assert!(trouble.contains("another key ring"), "{trouble}");
    let tenants = stranger.tenants(None, 10).await;
    assert!(matches!(tenants, Err(StoreError::Unavailable(text)) if text.contains("cell a")));
}
