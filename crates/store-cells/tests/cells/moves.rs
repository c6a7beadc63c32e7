//! Moving a tenant: everything of it arrives and nothing stays behind, wherever the node dies that moves it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use gancho_store::{Accept, MoveCounts, Nodes, StoreError, Tenants, Upkeep};
use gancho_store_cells::{MovePoint, MoveRules, MoveStep};
use gancho_testkit::wait_for;

use super::moved::{World, at_once, ended};
use crate::stage::now;

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_tenant_moves_and_comes_back() {
    let world = World::new().await;
    let store = world.node(at_once()).await;
    let tenant = world.with_tenant(&store).await;
    let other = world.maker.tenant(&store).await.unwrap();
    let cell_of_other = if world.left("a", other).await.is_empty() { "home" } else { "a" };
    world.fill("home", tenant, 1300).await;
    world.fill(cell_of_other, other, 10).await;
    let before = world.content("home", tenant).await;
    assert!(
        before.iter().all(|(_, (count, _))| *count > 0),
        "something in every table: {before:?}"
    );
    let of_other = world.content(cell_of_other, other).await;
    let mut version = world.endpoint_version("home", tenant).await;

    for (from, to) in [("home", "a"), ("a", "home"), ("home", "a")] {
        let begun = store.move_tenant(tenant, to).await.unwrap();
        assert_eq!((begun.from.as_str(), begun.to.as_str()), (from, to));
        let status = ended(&store, tenant, MoveStep::Done).await;
        assert!(status.copied_rows > 5000, "{status:?}");
        assert!(status.closed.is_some(), "{status:?}");
        assert_eq!(world.content(to, tenant).await, before);
        assert_eq!(world.left(from, tenant).await, Vec::<&str>::new());
        let raised = world.endpoint_version(to, tenant).await;
        assert!(raised > version, "nodes read the endpoints again: {version} {raised}");
        version = raised;
        assert_eq!(world.content(cell_of_other, other).await, of_other, "others stay as they are");
        assert_eq!(store.cell_name(tenant).as_deref(), Some(to));
        assert!(store.tenant(tenant).await.unwrap().is_some());
        assert_eq!(store.tenants(None, 10).await.unwrap().len(), 2);
    }
}

/// A node that dies at a point, once, and whether it has.
fn dies_at(point: MovePoint) -> (MoveRules, Arc<AtomicBool>) {
    let died = Arc::new(AtomicBool::new(false));
    let dies = {
        let died = died.clone();
        move |at| at == point && !died.swap(true, Ordering::SeqCst)
    };
    (MoveRules { dies_at: Some(Arc::new(dies)), ..at_once() }, died)
}

async fn until_dead(died: &AtomicBool) {
    wait_for("the node has died", || async { died.load(Ordering::SeqCst).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_goes_on_wherever_its_node_dies() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 30).await;
    let mut before = world.content("home", tenant).await;
    drop(first);
    for (place, point) in MovePoint::FORWARD.into_iter().enumerate() {
        let (from, to) = if place % 2 == 0 { ("home", "a") } else { ("a", "home") };
        let (rules, died) = dies_at(point);
        let dying = world.node(rules).await;
        dying.move_tenant(tenant, to).await.unwrap();
        until_dead(&died).await;
        drop(dying);
        let next = world.node(at_once()).await;
        ended(&next, tenant, MoveStep::Done).await;
        assert_eq!(world.content(to, tenant).await, before, "{point:?}");
        assert_eq!(world.left(from, tenant).await, Vec::<&str>::new(), "{point:?}");
        let node = next.join("node", now()).await.unwrap();
        let accepted = next.accept(vec![world.maker.event(tenant)], node).await;
        assert!(accepted.is_ok(), "{point:?}: {accepted:?}");
        before = world.content(to, tenant).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_is_taken_back_wherever_its_node_dies() {
    let world = World::new().await;
    let first = world.node(at_once()).await;
    let tenant = world.with_tenant(&first).await;
    world.fill("home", tenant, 30).await;
    let before = world.content("home", tenant).await;
    drop(first);
    let before_switch = || MovePoint::FORWARD.into_iter().filter(|point| !point.is_after_switch());
    let ways = before_switch()
        .map(|point| (point, None))
        .chain(MovePoint::BACK.into_iter().map(|back| (MovePoint::RestCopied, Some(back))));
    for (point, back) in ways {
        let (rules, died) = dies_at(point);
        let dying = world.node(rules).await;
        dying.move_tenant(tenant, "a").await.unwrap();
        until_dead(&died).await;
        drop(dying);
        if let Some(back) = back {
            let (rules, died) = dies_at(back);
            let dying = world.node(rules).await;
            dying.take_tenant_back(tenant).await.unwrap();
            until_dead(&died).await;
            drop(dying);
        }
        let next = world.node(at_once()).await;
        if back.is_none() {
            next.take_tenant_back(tenant).await.unwrap();
        }
        ended(&next, tenant, MoveStep::TakenBack).await;
        assert_eq!(world.content("home", tenant).await, before, "{point:?} {back:?}");
        assert_eq!(world.left("a", tenant).await, Vec::<&str>::new(), "{point:?} {back:?}");
        assert_eq!(next.cell_name(tenant).as_deref(), Some("home"));
        assert!(next.take_tenant_back(tenant).await.is_err(), "there is nothing more to take back");
    }
    // It moves all the same.
    let store = world.node(at_once()).await;
    store.move_tenant(tenant, "a").await.unwrap();
    ended(&store, tenant, MoveStep::Done).await;
    assert_eq!(world.content("a", tenant).await, before);
}

fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Refused(text)) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_moved_is_refused_by_name() {
    let world = World::new().await;
    let (rules, died) = dies_at(MovePoint::Switched);
    let rules = MoveRules { lease: std::time::Duration::from_secs(60), ..rules };
    let store = world.node(rules).await;
    let tenant = world.with_tenant(&store).await;
    let why = refused(store.move_tenant(tenant, "c").await);
    assert!(why.contains("no cell c: there are home, a"), "{why}");
    let why = refused(store.move_tenant(tenant, "home").await);
    assert!(why.contains("lives in the cell home already"), "{why}");
    let why = refused(store.move_tenant(world.maker.id(), "a").await);
    assert!(why.contains("not in the directory"), "{why}");
    store.drain_cell("a", true).await.unwrap();
    let why = refused(store.move_tenant(tenant, "a").await);
    assert!(why.contains("cells drain a --undo"), "{why}");
    store.drain_cell("a", false).await.unwrap();
    let why = refused(store.take_tenant_back(tenant).await);
    assert!(why.contains("not being moved"), "{why}");

    // One whose schema is of a later version.
    world
        .run("insert into a.schema_migrations (number, name, checksum) values (99, 'later', 0)")
        .await;
    let later = world.node(at_once()).await;
    let why = refused(later.move_tenant(tenant, "a").await);
    assert!(why.contains("the cell a cannot be used: its schema is"), "{why}");
    drop(later);
    world.run("delete from a.schema_migrations where number = 99").await;

    store.add_cell("b", &world.url("b")).await.unwrap();
    store.move_tenant(tenant, "a").await.unwrap();
    let why = refused(store.move_tenant(tenant, "b").await);
    assert!(why.contains("being moved to the cell a"), "{why}");
    until_dead(&died).await;
    let why = refused(store.take_tenant_back(tenant).await);
    assert!(
        why.contains("lives in the cell a already: to have it back, move it to the cell home"),
        "{why}"
    );
    let moves = |name| {
        let figures = store.cell_figures();
        async move { figures.await.unwrap().into_iter().find(|cell| cell.name == name).unwrap().moves }
    };
    assert_eq!(moves("home").await, Some(MoveCounts { open: 1, troubled: 0 }));
    assert_eq!(moves("a").await, Some(MoveCounts::default()));
}
