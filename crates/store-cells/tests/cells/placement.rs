//! Which cell a tenant gets, and that everything of it is there.

use gancho_store::{
    Accept, AllTenants, EventFilter, Nodes, PageRequest, Settle, SettleOutcome, StoreError, Tenants,
};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{postgres::fresh_database, wait_for};

use crate::stage::{ParcelGenerator, delivered, in_schema, now, open, take_all};

#[tokio::test(flavor = "multi_thread")]
async fn new_tenants_go_where_the_fewest_live() {
    let database = fresh_database().await.unwrap();
    let store = open(&database.url(), Options::default()).await.unwrap();
    let maker = ParcelGenerator::new();
    let before = maker.tenant(&store).await.unwrap();
    for cell in ["a", "b"] {
        store.add_cell(cell, &in_schema(&database.url(), cell)).await.unwrap();
    }
    for _ in 0..5 {
        maker.tenant(&store).await.unwrap();
    }
    let counts = |cells: Vec<gancho_store_cells::CellStatus>| -> Vec<(String, u64)> {
        cells.into_iter().map(|cell| (cell.name, cell.tenants)).collect()
    };
    let expected = [("home".into(), 2), ("a".into(), 2), ("b".into(), 2)];
    assert_eq!(counts(store.list_cells().await.unwrap()), expected);
    assert!(store.tenant(before).await.unwrap().is_some(), "one from before there were cells");
    assert_eq!(store.tenants(None, 100).await.unwrap().len(), 6);

    // A cell that drains gets no more; what is in it stays.
    assert!(store.drain_cell("a", true).await.unwrap());
    assert!(!store.drain_cell("c", true).await.unwrap(), "there is none");
    for _ in 0..4 {
        maker.tenant(&store).await.unwrap();
    }
    let expected = [("home".into(), 4), ("a".into(), 2), ("b".into(), 4)];
    assert_eq!(counts(store.list_cells().await.unwrap()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_finds_what_one_has_created() {
    let database = fresh_database().await.unwrap();
    let [one, other] = [
        open(&database.url(), Options::default()).await.unwrap(),
        open(&database.url(), Options::default()).await.unwrap(),
    ];
    one.add_cell("a", &in_schema(&database.url(), "a")).await.unwrap();
    let maker = ParcelGenerator::new();
    let home = maker.tenant(&one).await.unwrap();
    let away = maker.tenant(&one).await.unwrap();
    assert_eq!(one.list_cells().await.unwrap()[1].tenants, 1);
    // The other node learns of the cell when it looks at the directory.
    wait_for("the cell is known", || async {
        (other.list_cells().await.unwrap().len() == 2).then_some(())
    })
    .await;
    wait_for("the tenant is found", || async { other.tenant(away).await.ok().flatten() }).await;
    assert!(other.tenant(home).await.unwrap().is_some());

    // A slug is in use once, whichever cell and node.
    let slug = one.tenant(away).await.unwrap().unwrap().slug;
    let again = gancho_domain::Tenant::new(maker.id(), slug.clone(), now());
    assert_eq!(other.create_tenant(again).await, Err(StoreError::Taken(slug)));

    // What one node accepts, another claims and settles, in the cell and nowhere else.
    let (writer, worker) =
        (one.join("one", now()).await.unwrap(), other.join("other", now()).await.unwrap());
    let events = [maker.event(away), maker.event(home), maker.event(away)];
    one.accept(events.to_vec(), writer).await.unwrap();
    let jobs = take_all(&other, worker).await;
    assert_eq!(jobs.len(), 3);
    for job in &jobs {
        let settled = other.settle(worker, vec![delivered(job)]).await.unwrap();
        assert_eq!(settled, [SettleOutcome::Done { follow: Vec::new() }]);
    }
    assert!(take_all(&one, writer).await.is_empty());
    let listed = one.all_events(EventFilter::default(), PageRequest::first(10)).await.unwrap();
    let newest_first: Vec<_> = events.iter().rev().map(|new| new.parcel.id).collect();
    assert_eq!(listed.rows.iter().map(|row| row.row.id.cast()).collect::<Vec<_>>(), newest_first);
    let cell = in_schema(&database.url(), "a");
    let cell = PostgresStore::connect(&cell, Options::default()).await.unwrap();
    let here = cell.all_events(EventFilter::default(), PageRequest::first(10)).await.unwrap();
    assert_eq!(here.rows.len(), 2);
}
