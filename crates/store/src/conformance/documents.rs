//! Small documents are in collections under keys, and have versions.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::TenantId;

use super::{
    Fixture,
    build::{World, scope},
};
use crate::{Collection, CollectionLimit, Document, Precondition, VERSIONED_KIND};

const KIND: &str = "event_type";
const OTHER: &str = "api_key";

async fn put<F: Fixture>(
    world: &World<F>,
    collection: Collection,
    key: &str,
    body: &'static str,
    expect: Precondition,
) -> Option<u64> {
    let body = Bytes::from_static(body.as_bytes());
    world.store.put_document(collection, key, body, expect).await.unwrap()
}

async fn keys<F: Fixture>(
    world: &World<F>,
    collection: Collection,
    after: Option<&str>,
) -> Vec<String> {
    let found = world.store.documents(collection, after, 100).await.unwrap();
    found.into_iter().map(|document| document.key).collect()
}

/// Reads all documents of a kind, in pages of `max`.
async fn all<F: Fixture>(
    world: &World<F>,
    kind: &'static str,
    max: usize,
) -> Vec<(Option<TenantId>, String)> {
    let mut found: Vec<(Option<TenantId>, String)> = Vec::new();
    loop {
        let after = found.last().cloned();
        let page = world.store.documents_of_all(kind, after, max).await.unwrap();
        assert!(page.len() <= max, "a page holds what was asked for");
        if page.is_empty() {
            return found;
        }
        found.extend(page.into_iter().map(|document| (document.tenant, document.key)));
    }
}

pub async fn one_reads_back_as_it_was_put<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let body: Bytes = (0..=255).collect::<Vec<u8>>().into();
    let collections =
        [(Some(acme), Collection::of(scope(acme), KIND)), (None, Collection::operators(KIND))];
    for (_, collection) in collections {
        for body in [body.clone(), Bytes::new()] {
            let key = format!("key-{}", body.len());
            let store = &world.store;
            assert_eq!(
                store.put_document(collection, &key, body, Precondition::Nothing).await,
                Ok(Some(1))
            );
        }
    }
    let world = world.reopen().await;
    for (tenant, collection) in collections {
        for body in [body.clone(), Bytes::new()] {
            let key = format!("key-{}", body.len());
            let found = world.store.document(collection, &key).await;
            assert_eq!(found, Ok(Some(Document { tenant, key, body, version: 1, ends_at: None })));
        }
    }
}

pub async fn what_is_expected_decides<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    assert_eq!(
        put(&world, collection, "a", "0", Precondition::Version(0)).await,
        None,
        "not there"
    );
    assert_eq!(
        put(&world, collection, "a", "0", Precondition::Version(1)).await,
        None,
        "not there"
    );
    assert_eq!(world.store.document(collection, "a").await, Ok(None), "nothing was written");

    assert_eq!(put(&world, collection, "a", "1", Precondition::Nothing).await, Some(1));
    assert_eq!(
        put(&world, collection, "a", "2", Precondition::Nothing).await,
        None,
        "there already"
    );
    assert_eq!(put(&world, collection, "a", "2", Precondition::Version(2)).await, None, "not yet");
    assert_eq!(put(&world, collection, "a", "2", Precondition::Version(1)).await, Some(2));
    assert_eq!(
        put(&world, collection, "a", "3", Precondition::Version(1)).await,
        None,
        "no longer"
    );
    let found = world.store.document(collection, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"2"[..], 2));
    assert_eq!(put(&world, collection, "a", "3", Precondition::Anything).await, Some(3));
    assert_eq!(put(&world, collection, "b", "1", Precondition::Anything).await, Some(1));
    let found = world.store.document(collection, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"3"[..], 3));
}

pub async fn a_deleted_one_is_gone<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    put(&world, collection, "a", "1", Precondition::Nothing).await;
    put(&world, collection, "b", "1", Precondition::Nothing).await;
    let store = &world.store;
    assert_eq!(store.delete_document(collection, "a").await, Ok(true));
    assert_eq!(store.delete_document(collection, "a").await, Ok(false));
    assert_eq!(store.document(collection, "a").await, Ok(None));
    assert_eq!(store.find_document(KIND, "a").await, Ok(None));
    assert_eq!(keys(&world, collection, None).await, ["b"]);
    assert_eq!(all(&world, KIND, 10).await.len(), 1);
    assert_eq!(put(&world, collection, "a", "2", Precondition::Nothing).await, Some(1));
}

pub async fn of_many_changers_one_wins<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    for (expect, version) in [(Precondition::Nothing, 1), (Precondition::Version(1), 2)] {
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..20_u8 {
            let store = Arc::clone(&world.store);
            calls.spawn(async move {
                let body = Bytes::from(vec![n]);
                (n, store.put_document(collection, "a", body, expect).await.unwrap())
            });
        }
        let won: Vec<_> =
            calls.join_all().await.into_iter().filter(|(_, put)| put.is_some()).collect();
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(won[0].1, Some(version));
        let found = world.store.document(collection, "a").await.unwrap().unwrap();
        assert_eq!((&*found.body, found.version), (&[won[0].0][..], version));
    }
}

pub async fn keys_come_in_the_order_of_their_bytes<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    let order =
        ["", " ", "%", "B", "_", "a", "a\0", "a\0b", "a.b", "aB", "ab", "z", "Ä", "é", "🪝"];
    for key in order.iter().rev() {
        assert_eq!(
            put(&world, collection, key, "1", Precondition::Nothing).await,
            Some(1),
            "{key:?}"
        );
    }
    assert_eq!(keys(&world, collection, None).await, order);
    for (place, key) in order.iter().enumerate() {
        assert_eq!(keys(&world, collection, Some(key)).await, order[place + 1..], "after {key:?}");
        assert_eq!(world.store.document(collection, key).await.unwrap().unwrap().key, *key);
    }
    assert_eq!(
        keys(&world, collection, Some("aC")).await,
        order[10..],
        "after one that is not there"
    );
    let few = world.store.documents(collection, Some("B"), 2).await.unwrap();
    assert_eq!(few.iter().map(|document| &*document.key).collect::<Vec<_>>(), ["_", "a"]);
    assert_eq!(world.store.documents(collection, None, 0).await, Ok(vec![]));
}

pub async fn one_is_found_by_its_key_in_any_collection<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    put(&world, Collection::of(scope(acme), KIND), "a", "of acme", Precondition::Nothing).await;
    put(&world, Collection::of(scope(globex), KIND), "g", "of globex", Precondition::Nothing).await;
    put(&world, Collection::operators(KIND), "o", "the operator's", Precondition::Nothing).await;
    put(
        &world,
        Collection::of(scope(globex), OTHER),
        "k",
        "of another kind",
        Precondition::Nothing,
    )
    .await;
    for (key, tenant) in [("a", Some(acme)), ("g", Some(globex)), ("o", None)] {
        let found = world.store.find_document(KIND, key).await.unwrap().unwrap();
        assert_eq!((found.tenant, &*found.key), (tenant, key));
    }
    for key in ["k", "", "A", "%", "' OR 1=1 --"] {
        assert_eq!(world.store.find_document(KIND, key).await, Ok(None), "{key:?}");
    }
}

pub async fn a_kind_is_listed_collection_by_collection<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let mut expected = Vec::new();
    for tenant in [None, Some(acme), Some(globex)] {
        let collection = |kind| {
            tenant.map_or(Collection::operators(kind), |tenant| Collection::of(scope(tenant), kind))
        };
        for key in ["", "B", "a", "c"] {
            put(&world, collection(KIND), key, "1", Precondition::Nothing).await;
            expected.push((tenant, key.to_owned()));
        }
        put(&world, collection(OTHER), "b", "1", Precondition::Nothing).await;
    }
    for max in [1, 3, 4, 100] {
        assert_eq!(all(&world, KIND, max).await, expected, "pages of {max}");
    }
    assert_eq!(all(&world, OTHER, 100).await.len(), 3);
    assert_eq!(all(&world, "nothing", 100).await, []);
}

pub async fn those_that_end_are_found_by_when<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let at = |hours: u64| world.now() + Duration::from_hours(hours);
    for (tenant, kind, key, end) in [
        (acme, KIND, "b", Some(at(5))),
        (globex, KIND, "a", Some(at(3))),
        (acme, KIND, "c", Some(at(9))),
        (acme, KIND, "d", None),
        (acme, OTHER, "e", Some(at(4))),
    ] {
        let collection = Collection::of(scope(tenant), kind);
        let body = Bytes::from_static(b"1");
        match end {
            Some(end) => {
                let expect = Precondition::Nothing;
                world.store.put_document_until(collection, key, body, expect, end).await.unwrap()
            }
            None => world
                .store
                .put_document(collection, key, body, Precondition::Nothing)
                .await
                .unwrap(),
        };
    }
    let ending = async |from, to, max| {
        let found = world.store.documents_ending(KIND, from, to, max).await.unwrap();
        found.into_iter().map(|one| (one.tenant, one.key)).collect::<Vec<_>>()
    };
    let [a, b, c] = [(globex, "a"), (acme, "b"), (acme, "c")]
        .map(|(tenant, key)| (Some(tenant), key.to_owned()));
    assert_eq!(ending(at(0), at(100), 10).await, [a.clone(), b.clone(), c]);
    assert_eq!(ending(at(0), at(100), 1).await, std::slice::from_ref(&a));
    assert_eq!(ending(at(3), at(5), 10).await, [a]);
    assert_eq!(ending(at(4), at(9), 10).await, [b]);
    assert_eq!(ending(at(10), at(100), 10).await, []);
}

pub async fn collections_do_not_mix<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let own = Collection::of(scope(acme), KIND);
    put(&world, own, "a", "of acme", Precondition::Nothing).await;
    let store = &world.store;
    for other in [
        Collection::of(scope(globex), KIND),
        Collection::of(scope(acme), OTHER),
        Collection::operators(KIND),
        Collection::operators(OTHER),
    ] {
        assert_eq!(store.document(other, "a").await, Ok(None));
        assert_eq!(store.documents(other, None, 10).await, Ok(vec![]));
        assert_eq!(put(&world, other, "a", "stolen", Precondition::Version(1)).await, None);
        assert_eq!(store.delete_document(other, "a").await, Ok(false));
        assert_eq!(put(&world, other, "a", "another", Precondition::Nothing).await, Some(1));
        assert_eq!(store.delete_document(other, "a").await, Ok(true));
    }
    let found = store.document(own, "a").await.unwrap().unwrap();
    assert_eq!((&*found.body, found.version), (&b"of acme"[..], 1));
}

fn at_most(max_count: usize) -> CollectionLimit {
    CollectionLimit { max_count, max_bytes: 1_000 }
}

pub async fn a_collection_takes_no_more_bytes_than_its_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let own = Collection::of(scope(world.tenant().await), KIND);
    let put = async |key: &str, bytes: usize, max_bytes: usize| {
        let (body, limit) =
            (Bytes::from(vec![b'x'; bytes]), CollectionLimit { max_count: 9, max_bytes });
        let put = world.store.put_document_within(own, key, body, Precondition::Anything, limit);
        put.await.unwrap()
    };
    assert_eq!(put("a", 60, 100).await, Some(1));
    assert_eq!(put("b", 41, 100).await, None);
    assert_eq!(put("b", 40, 100).await, Some(1));
    assert_eq!(put("a", 61, 100).await, None, "its own size before does not count");
    assert_eq!(put("a", 10, 100).await, Some(2));
    assert_eq!(put("b", 90, 100).await, Some(2));
    assert_eq!(put("b", 89, 50).await, Some(3), "beyond a lower limit it may become smaller");
    assert_eq!(put("b", 90, 50).await, None);
}

/// A reader of a collection can tell whether to read it again.
pub async fn the_version_of_a_collection_changes_with_it<F: Fixture>() {
    let world = World::<F>::new().await;
    let tenant = world.tenant().await;
    let own = Collection::of(scope(tenant), VERSIONED_KIND);
    let version = async || world.store.collection_version(own).await.unwrap();
    let mut seen = vec![version().await];
    assert_eq!(seen, [0], "it is empty");
    for (key, body) in [("a", "1"), ("b", "1"), ("a", "2")] {
        put(&world, own, key, body, Precondition::Anything).await;
        seen.push(version().await);
    }
    for key in ["a", "b"] {
        assert_eq!(world.store.delete_document(own, key).await, Ok(true));
        seen.push(version().await);
    }
    assert_eq!(seen.pop(), Some(0), "it is empty again");
    put(&world, own, "a", "1", Precondition::Anything).await;
    seen.push(version().await);
    let all: std::collections::BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!(all.len(), seen.len(), "each once: {seen:?}");
    for other in [Collection::of(scope(tenant), OTHER), Collection::operators(VERSIONED_KIND)] {
        put(&world, other, "a", "1", Precondition::Anything).await;
        assert_eq!(version().await, *seen.last().unwrap(), "another's change is none of it");
    }
    let world = world.reopen().await;
    assert_eq!(world.store.collection_version(own).await, Ok(*seen.last().unwrap()));
}

pub async fn a_collection_takes_no_more_than_its_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let (own, others) = (Collection::of(acme, KIND), Collection::of(acme, OTHER));
    let within = async |collection, key: &str, max| {
        let body = Bytes::from_static(b"1");
        let limit = at_most(max);
        let put =
            world.store.put_document_within(collection, key, body, Precondition::Anything, limit);
        put.await.unwrap()
    };
    assert_eq!(within(own, "a", 2).await, Some(1));
    assert_eq!(within(own, "b", 2).await, Some(1));
    assert_eq!(within(own, "c", 2).await, None);
    assert_eq!(keys(&world, own, None).await, ["a", "b"], "nothing was written");
    assert_eq!(within(own, "b", 2).await, Some(2), "one that is there is no more than before");
    assert_eq!(within(own, "b", 0).await, Some(3));
    assert_eq!(within(others, "c", 2).await, Some(1), "each has its own");
    assert_eq!(world.store.delete_document(own, "a").await, Ok(true));
    assert_eq!(within(own, "c", 2).await, Some(1));
    let put = async |key: &str, expect, max| {
        let body = Bytes::from_static(b"2");
        world.store.put_document_within(own, key, body, expect, at_most(max)).await.unwrap()
    };
    assert_eq!(put("c", Precondition::Nothing, 9).await, None, "it is there");
    assert_eq!(put("d", Precondition::Nothing, 2).await, None, "there are too many");
    assert_eq!(put("c", Precondition::Version(2), 9).await, None);
    let kept = world.store.document(own, "c").await.unwrap().unwrap();
    assert_eq!(&*kept.body, b"1", "nothing was written");
    assert_eq!(put("c", Precondition::Version(1), 9).await, Some(2));
    assert_eq!(put("d", Precondition::Nothing, 3).await, Some(1));
}

/// If many callers add a name at once, one succeeds.
pub async fn one_of_twenty_at_once_adds_a_key_within_a_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0_u8..20 {
        let store = Arc::clone(&world.store);
        calls.spawn(async move {
            let body = Bytes::from(vec![number]);
            let put = store.put_document_within(
                collection,
                "key",
                body,
                Precondition::Nothing,
                at_most(100),
            );
            put.await.unwrap().map(|version| (version, number))
        });
    }
    let put: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    let stored = world.store.document(collection, "key").await.unwrap().unwrap();
    assert_eq!(put, [(1, stored.body[0])]);
}

pub async fn twenty_at_once_do_not_pass_the_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let collection = Collection::of(scope(world.tenant().await), KIND);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = Arc::clone(&world.store);
        calls.spawn(async move {
            let key = format!("key-{number}");
            let (body, expect) = (Bytes::new(), Precondition::Anything);
            store.put_document_within(collection, &key, body, expect, at_most(3)).await.unwrap()
        });
    }
    let put = calls.join_all().await.into_iter().flatten().count();
    assert_eq!((put, keys(&world, collection, None).await.len()), (3, 3));
}
