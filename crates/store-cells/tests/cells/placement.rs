//! Which cell a tenant gets, and that everything of it is there.

use bytes::Bytes;
use gancho_domain::{TenantId, TenantScope};
use gancho_store::{
    Accept, AllTenants, Collection, Documents, Erasure, EventFilter, Nodes, PageRequest,
    Precondition, Settle, SettleOutcome, StoreError, Tenants,
};
use gancho_store_cells::{CellStore, MoveStep, Placement, PlacementState};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{postgres::fresh_database, wait_for};

use super::moved::{World, at_once, ended};
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

async fn add_key(store: &CellStore, tenant: TenantId, key: &str) {
    let keys = Collection::of(TenantScope::internal(tenant), "api_key");
    let body = Bytes::from_static(b"{}");
    store.put_document(keys, key, body, Precondition::Nothing).await.unwrap().unwrap();
}

/// A node reads the directory every second, and a client whose key is called invalid gives up.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_cell_that_a_node_has_not_heard_of_is_not_called_unknown() {
    let database = fresh_database().await.unwrap();
    let [one, other] = [
        open(&database.url(), Options::default()).await.unwrap(),
        open(&database.url(), Options::default()).await.unwrap(),
    ];
    let maker = ParcelGenerator::new();
    maker.tenant(&one).await.unwrap();
    for cell in ["a", "b"] {
        one.add_cell(cell, &in_schema(&database.url(), cell)).await.unwrap();
        let tenant = maker.tenant(&one).await.unwrap();
        assert_eq!(one.cell_name(tenant).as_deref(), Some(cell));
        add_key(&one, tenant, cell).await;
        let key = wait_for("the cell is opened", || async {
            match other.find_document("api_key", cell).await {
                Err(StoreError::Unavailable(why)) => {
                    assert!(why.contains("being opened"), "{why}");
                    None
                }
                found => Some(found.unwrap()),
            }
        });
        assert_eq!(key.await.expect("known from the first").tenant, Some(tenant));
    }
    assert_eq!(other.find_document("api_key", "c").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_tenant_that_has_moved_is_known_to_all_nodes_at_once() {
    let world = World::new().await;
    // Nothing waits for the other node to read the directory.
    let (mover, other) = (world.node(at_once()).await, world.node(at_once()).await);
    let tenant = world.with_tenant(&mover).await;
    wait_for("the other node has opened the cell", || async {
        let cells = other.list_cells().await.unwrap();
        (cells.len() == 2 && cells[1].trouble.is_none()).then_some(())
    })
    .await;
    for (to, key) in [("a", "k1"), ("home", "k2"), ("a", "k3")] {
        mover.move_tenant(tenant, to).await.unwrap();
        ended(&mover, tenant, MoveStep::Done).await;
        add_key(&mover, tenant, key).await;
        let found = other.find_document("api_key", key).await.unwrap().expect(key);
        assert_eq!(found.tenant, Some(tenant));
    }
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Refused(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_is_removed_when_nobody_lives_there_and_nobody_can_come() {
    let database = fresh_database().await.unwrap();
    let [store, other] = [
        open(&database.url(), Options::default()).await.unwrap(),
        open(&database.url(), Options::default()).await.unwrap(),
    ];
    let maker = ParcelGenerator::new();
    let at_home = maker.tenant(&store).await.unwrap();
    for cell in ["a", "b"] {
        store.add_cell(cell, &in_schema(&database.url(), cell)).await.unwrap();
    }
    let away = [maker.tenant(&store).await.unwrap(), maker.tenant(&store).await.unwrap()];
    let name_of = |tenant| store.cell_name(tenant).unwrap();
    let mut cells = away.map(name_of);
    cells.sort_unstable();
    assert_eq!(cells, ["a", "b"]);
    let in_a = away.into_iter().find(|tenant| name_of(*tenant) == "a").unwrap();
    wait_for("the other node has opened the cells", || async {
        other.tenants(None, 10).await.ok()
    })
    .await;

    let why = refused(store.remove_cell("home", false).await);
    assert!(why.contains("has the directory"), "{why}");
    assert!(!store.remove_cell("c", false).await.unwrap(), "there is none");
    let why = refused(store.remove_cell("a", false).await);
    assert!(why.contains("drain it first"), "{why}");
    store.drain_cell("a", true).await.unwrap();
    let why = refused(store.remove_cell("a", false).await);
    assert!(why.contains("tenants live in the cell a"), "{why}");
    assert!(store.tenant(in_a).await.unwrap().is_some());

    // A slug that was reserved there for a tenant that has never come to be.
    let home = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let client = database.client().await.unwrap();
    let in_cell_a = home.cells().await.unwrap()[0].number as i32;
    let reserve = "insert into cell_tenants (tenant_id, slug, cell, state, changed_at)
        values (gen_random_uuid(), 'never', $1, 1, now() - interval '2 minutes')";
    client.execute(reserve, &[&in_cell_a]).await.unwrap();
    // One that was created, though the directory does not say so yet.
    let slug = store.tenant(in_a).await.unwrap().unwrap().slug;
    let created = "update cell_tenants set state = 1 where slug = $1";
    client.execute(created, &[&slug]).await.unwrap();

    let mut living = store.tenants_of_cell("a", None, 10).await.unwrap().unwrap();
    living.retain(|one| one.slug != "never");
    assert_eq!(living.iter().map(|one| one.tenant).collect::<Vec<_>>(), [in_a]);
    assert_eq!(living[0].state, PlacementState::Active, "it was looked up");
    assert_eq!(store.tenants_of_cell("a", None, 10).await.unwrap().unwrap().len(), 1);
    assert_eq!(store.tenants_of_cell("c", None, 10).await.unwrap(), None);
    assert_eq!(store.tenants_of_cell("a", Some(&slug), 10).await.unwrap().unwrap(), []);

    store.move_tenant(in_a, "home").await.unwrap();
    let why = refused(store.remove_cell("a", false).await);
    assert!(why.contains("tenants live in the cell a, move"), "{why}");
    wait_for("the tenant has moved", || async {
        let status = store.move_status(in_a).await.unwrap().unwrap();
        (status.step == MoveStep::Done).then_some(())
    })
    .await;
    assert!(store.remove_cell("a", false).await.unwrap());
    assert!(!store.remove_cell("a", false).await.unwrap(), "it is gone");
    let names = |cells: Vec<gancho_store_cells::CellStatus>| -> Vec<String> {
        cells.into_iter().map(|cell| cell.name).collect()
    };
    assert_eq!(names(other.list_cells().await.unwrap()), ["home", "b"]);

    // A node that has not heard of it puts nobody there.
    let reserved = home.reserve_tenant(maker.id(), "late", in_cell_a as u32).await;
    assert!(reserved.is_err(), "{reserved:?}");
    assert!(!home.begin_move(at_home, 0, in_cell_a as u32).await.unwrap());
    for node in [&store, &other] {
        for tenant in [at_home, away[0], away[1]] {
            assert!(node.tenant(tenant).await.unwrap().is_some());
        }
        maker.tenant(node).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_one_of_a_single_cell_again_when_the_last_other_is_removed() {
    let database = fresh_database().await.unwrap();
    let store = open(&database.url(), Options::default()).await.unwrap();
    let maker = ParcelGenerator::new();
    let tenant = maker.tenant(&store).await.unwrap();
    store.add_cell("a", &in_schema(&database.url(), "a")).await.unwrap();
    store.drain_cell("a", true).await.unwrap();
    assert!(store.remove_cell("a", false).await.unwrap());
    assert!(store.is_alone());

    // Its slug is another's before the directory is used again.
    let slug = store.tenant(tenant).await.unwrap().unwrap().slug;
    store.delete_tenant(tenant, now()).await.unwrap();
    let heir = gancho_domain::Tenant::new(maker.id(), slug.clone(), now());
    store.create_tenant(heir.clone()).await.unwrap();
    store.add_cell("b", &in_schema(&database.url(), "b")).await.unwrap();
    let living = store.tenants_of_cell("home", None, 10).await.unwrap().unwrap();
    assert_eq!(living.iter().map(|one| one.tenant).collect::<Vec<_>>(), [heir.id]);
    let found = store.tenant_by_slug(&slug).await.unwrap().unwrap();
    assert_eq!(found.id, heir.id);
}

/// A node that is slow to say that it has created a tenant does not undo what others have done with it meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_placement_changes_only_from_what_it_was() {
    let database = fresh_database().await.unwrap();
    let home = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let maker = ParcelGenerator::new();
    let number = home.add_cell("a", b"url").await.unwrap();
    let tenant = maker.id();
    home.reserve_tenant(tenant, "acme", 0).await.unwrap();
    let placed = |state| Placement { tenant, slug: "acme".into(), cell: 0, state };
    let active = placed(PlacementState::Active);
    assert!(home.change_placement(&active, PlacementState::Creating).await.unwrap());
    assert!(home.begin_move(tenant, 0, number).await.unwrap());
    for (state, from) in [
        (PlacementState::Active, PlacementState::Creating),
        (PlacementState::Deleted, PlacementState::Active),
    ] {
        assert!(!home.change_placement(&placed(state), from).await.unwrap());
        let now = home.placement(tenant).await.unwrap().unwrap();
        assert_eq!(now.state, PlacementState::Moving);
    }
}
