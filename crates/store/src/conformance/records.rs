//! Small documents stand on shelves under keys, and count their changes.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::TenantId;

use super::{
    Fixture,
    build::{World, scope},
};
use crate::{Expect, Record, Shelf};

const KIND: &str = "event_type";
const OTHER: &str = "api_key";

async fn put<F: Fixture>(
    world: &World<F>,
    shelf: Shelf,
    key: &str,
    body: &'static str,
    expect: Expect,
) -> Option<u64> {
    let body = Bytes::from_static(body.as_bytes());
    world.store.put_record(shelf, key, body, expect).await.unwrap()
}

async fn keys<F: Fixture>(world: &World<F>, shelf: Shelf, after: Option<&str>) -> Vec<String> {
    let found = world.store.records(shelf, after, 100).await.unwrap();
    found.into_iter().map(|record| record.key).collect()
}

/// The whole of a kind, by pages of so many.
async fn all<F: Fixture>(
    world: &World<F>,
    kind: &'static str,
    most: usize,
) -> Vec<(Option<TenantId>, String)> {
    let mut found: Vec<(Option<TenantId>, String)> = Vec::new();
    loop {
        let after = found.last().cloned();
        let page = world.store.records_of_all(kind, after, most).await.unwrap();
        assert!(page.len() <= most, "a page holds what was asked for");
        if page.is_empty() {
            return found;
        }
        found.extend(page.into_iter().map(|record| (record.tenant, record.key)));
    }
}

pub async fn one_reads_back_as_it_was_put<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let body: Bytes = (0..=255).collect::<Vec<u8>>().into();
    let shelves = [(Some(acme), Shelf::of(scope(acme), KIND)), (None, Shelf::operators(KIND))];
    for (_, shelf) in shelves {
        for body in [body.clone(), Bytes::new()] {
            let key = format!("key-{}", body.len());
            let store = &world.store;
            assert_eq!(store.put_record(shelf, &key, body, Expect::Nothing).await, Ok(Some(1)));
        }
    }
    let world = world.reopen().await;
    for (tenant, shelf) in shelves {
        for body in [body.clone(), Bytes::new()] {
            let key = format!("key-{}", body.len());
            let found = world.store.record(shelf, &key).await;
            assert_eq!(found, Ok(Some(Record { tenant, key, body, version: 1 })));
        }
    }
}

pub async fn what_is_expected_decides<F: Fixture>() {
    let world = World::<F>::new().await;
    let shelf = Shelf::of(scope(world.tenant().await), KIND);
    assert_eq!(put(&world, shelf, "a", "0", Expect::Version(0)).await, None, "not there");
    assert_eq!(put(&world, shelf, "a", "0", Expect::Version(1)).await, None, "not there");
    assert_eq!(world.store.record(shelf, "a").await, Ok(None), "nothing was written");

    assert_eq!(put(&world, shelf, "a", "1", Expect::Nothing).await, Some(1));
    assert_eq!(put(&world, shelf, "a", "2", Expect::Nothing).await, None, "there already");
    assert_eq!(put(&world, shelf, "a", "2", Expect::Version(2)).await, None, "not yet");
    assert_eq!(put(&world, shelf, "a", "2", Expect::Version(1)).await, Some(2));
    assert_eq!(put(&world, shelf, "a", "3", Expect::Version(1)).await, None, "no longer");
    let found = world.store.record(shelf, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"2"[..], 2));
    assert_eq!(put(&world, shelf, "a", "3", Expect::Anything).await, Some(3));
    assert_eq!(put(&world, shelf, "b", "1", Expect::Anything).await, Some(1));
    let found = world.store.record(shelf, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"3"[..], 3));
}

pub async fn a_deleted_one_is_gone<F: Fixture>() {
    let world = World::<F>::new().await;
    let shelf = Shelf::of(scope(world.tenant().await), KIND);
    put(&world, shelf, "a", "1", Expect::Nothing).await;
    put(&world, shelf, "b", "1", Expect::Nothing).await;
    let store = &world.store;
    assert_eq!(store.delete_record(shelf, "a").await, Ok(true));
    assert_eq!(store.delete_record(shelf, "a").await, Ok(false));
    assert_eq!(store.record(shelf, "a").await, Ok(None));
    assert_eq!(store.find_record(KIND, "a").await, Ok(None));
    assert_eq!(keys(&world, shelf, None).await, ["b"]);
    assert_eq!(all(&world, KIND, 10).await.len(), 1);
    assert_eq!(put(&world, shelf, "a", "2", Expect::Nothing).await, Some(1));
}

pub async fn of_many_changers_one_wins<F: Fixture>() {
    let world = World::<F>::new().await;
    let shelf = Shelf::of(scope(world.tenant().await), KIND);
    for (expect, version) in [(Expect::Nothing, 1), (Expect::Version(1), 2)] {
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..20_u8 {
            let store = Arc::clone(&world.store);
            calls.spawn(async move {
                let body = Bytes::from(vec![n]);
                (n, store.put_record(shelf, "a", body, expect).await.unwrap())
            });
        }
        let won: Vec<_> =
            calls.join_all().await.into_iter().filter(|(_, put)| put.is_some()).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(won[0].1, Some(version));
        let found = world.store.record(shelf, "a").await.unwrap().unwrap();
        assert_eq!((&*found.body, found.version), (&[won[0].0][..], version));
    }
}

pub async fn keys_come_in_the_order_of_their_bytes<F: Fixture>() {
    let world = World::<F>::new().await;
    let shelf = Shelf::of(scope(world.tenant().await), KIND);
    let order =
        ["", " ", "%", "B", "_", "a", "a\0", "a\0b", "a.b", "aB", "ab", "z", "Ä", "é", "🪝"];
    for key in order.iter().rev() {
        assert_eq!(put(&world, shelf, key, "1", Expect::Nothing).await, Some(1), "{key:?}");
    }
    assert_eq!(keys(&world, shelf, None).await, order);
    for (place, key) in order.iter().enumerate() {
        assert_eq!(keys(&world, shelf, Some(key)).await, order[place + 1..], "after {key:?}");
        assert_eq!(world.store.record(shelf, key).await.unwrap().unwrap().key, *key);
    }
    assert_eq!(keys(&world, shelf, Some("aC")).await, order[10..], "after one that is not there");
    let few = world.store.records(shelf, Some("B"), 2).await.unwrap();
    assert_eq!(few.iter().map(|record| &*record.key).collect::<Vec<_>>(), ["_", "a"]);
    assert_eq!(world.store.records(shelf, None, 0).await, Ok(vec![]));
}

pub async fn one_is_found_by_its_key_on_any_shelf<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    put(&world, Shelf::of(scope(acme), KIND), "a", "of acme", Expect::Nothing).await;
    put(&world, Shelf::of(scope(globex), KIND), "g", "of globex", Expect::Nothing).await;
    put(&world, Shelf::operators(KIND), "o", "the operator's", Expect::Nothing).await;
    put(&world, Shelf::of(scope(globex), OTHER), "k", "of another kind", Expect::Nothing).await;
    for (key, tenant) in [("a", Some(acme)), ("g", Some(globex)), ("o", None)] {
        let found = world.store.find_record(KIND, key).await.unwrap().unwrap();
        assert_eq!((found.tenant, &*found.key), (tenant, key));
    }
    for key in ["k", "", "A", "%", "' OR 1=1 --"] {
        assert_eq!(world.store.find_record(KIND, key).await, Ok(None), "{key:?}");
    }
}

pub async fn a_kind_is_listed_shelf_by_shelf<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let mut expected = Vec::new();
    for tenant in [None, Some(acme), Some(globex)] {
        let shelf =
            |kind| tenant.map_or(Shelf::operators(kind), |tenant| Shelf::of(scope(tenant), kind));
        for key in ["", "B", "a", "c"] {
            put(&world, shelf(KIND), key, "1", Expect::Nothing).await;
            expected.push((tenant, key.to_owned()));
        }
        put(&world, shelf(OTHER), "b", "1", Expect::Nothing).await;
    }
    for most in [1, 3, 4, 100] {
        assert_eq!(all(&world, KIND, most).await, expected, "pages of {most}");
    }
    assert_eq!(all(&world, OTHER, 100).await.len(), 3);
    assert_eq!(all(&world, "nothing", 100).await, []);
}

pub async fn shelves_do_not_mix<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let own = Shelf::of(scope(acme), KIND);
    put(&world, own, "a", "of acme", Expect::Nothing).await;
    let store = &world.store;
    for other in [
        Shelf::of(scope(globex), KIND),
        Shelf::of(scope(acme), OTHER),
        Shelf::operators(KIND),
        Shelf::operators(OTHER),
    ] {
        assert_eq!(store.record(other, "a").await, Ok(None));
        assert_eq!(store.records(other, None, 10).await, Ok(vec![]));
        assert_eq!(put(&world, other, "a", "stolen", Expect::Version(1)).await, None);
        assert_eq!(store.delete_record(other, "a").await, Ok(false));
        assert_eq!(put(&world, other, "a", "another", Expect::Nothing).await, Some(1));
        assert_eq!(store.delete_record(other, "a").await, Ok(true));
    }
    let found = store.record(own, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"of acme"[..], 1));
}
