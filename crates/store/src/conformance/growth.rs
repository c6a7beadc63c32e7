//! Expired data is removed as fast as it was created: a round of upkeep continues until none is left.
//! (faults.md 12, 13, 14)

use bytes::Bytes;
use gancho_domain::Time;

use super::{
    Fixture,
    build::{World, hours, ids, placed, scope, secs},
};
use crate::{Claim, Collection, Precondition, StoreError};

pub async fn keys_are_forgotten_by_the_thousand<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (soon, later) = (world.now() + hours(1), world.now() + hours(100));
    let make = |until| move |number: u64| (number, until);
    let keys: Vec<_> = (0..6_000).map(make(soon)).chain((6_000..7_000).map(make(later))).collect();
    let drafts = |keys: &[(u64, Time)]| {
        let draft = |&(number, until): &(u64, Time)| world.event(acme).once_of_many(number, until);
        keys.iter().map(draft).collect::<Vec<_>>()
    };
    // Created within the keys' time and accepted after it: a key that was merely out of date would still
    // count.
    let again = drafts(&keys);
    for batch in keys.chunks(1_000) {
        world.accept_all(drafts(batch)).await;
    }
    world.pass(hours(2));
    world.prune(Time::ZERO).await;
    let mut new = 0;
    for (batch, accepted) in again.chunks(1_000).zip(0..) {
        let answers = world.accept_all(batch.to_vec()).await;
        let fresh =
            answers.iter().filter(|one| matches!(one, crate::AcceptOutcome::New { .. })).count();
        assert!(accepted < 6 || fresh == 0, "keys in their time are known");
        new += fresh;
    }
    // A store may leave a few for later, if it costs too much to find them.
    assert!(new > 5_000, "{new} of 6000 are forgotten");
}

pub async fn parcels_go_by_the_thousand_and_leave_what_must_stay<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let target = world.target();
    // Before them are more rows that stay than one step scans.
    let far = world.now() + hours(24 * 365);
    let waiting: Vec<_> = (0..1_500).map(|_| world.event(acme).to_at(target, far)).collect();
    for batch in waiting.chunks(500) {
        world.accept_all(batch.to_vec()).await;
    }
    world.pass(secs(1));
    let ended = (0..3_000).map(|number| world.event(acme).about(&format!("order-{number}")));
    for batch in ended.collect::<Vec<_>>().chunks(1_000) {
        world.accept_all(batch.to_vec()).await;
    }
    world.pass(hours(1));
    assert_eq!(world.prune(world.now()).await, 3_000, "in one round");
    assert_eq!(world.prune(world.now()).await, 0);
    assert!(world.find(acme, waiting[0].delivery(0)).await.is_some());
}

pub async fn documents_go_when_their_time_is_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let (store, start) = (&world.store, world.now());
    let body = || Bytes::from_static(b"{}");
    let collection = Collection::of(acme, "api_key");
    let put = |key: &'static str, until: u64| {
        let until = start + hours(until);
        store.put_document_until(collection, key, body(), Precondition::Anything, until)
    };
    for (key, until) in [("early", 1), ("late", 3), ("renewed", 1), ("kept", 1)] {
        assert_eq!(put(key, until).await, Ok(Some(1)));
    }
    assert_eq!(put("renewed", 3).await, Ok(Some(2)));
    let kept = store.put_document(collection, "kept", body(), Precondition::Version(1)).await;
    assert_eq!(kept, Ok(Some(2)));
    assert_eq!(
        store.put_document(collection, "always", body(), Precondition::Nothing).await,
        Ok(Some(1))
    );
    for number in 0..1_500 {
        let key = format!("many-{number}");
        let until = start + secs(number);
        store
            .put_document_until(collection, &key, body(), Precondition::Nothing, until)
            .await
            .unwrap();
    }
    let left = || async {
        let documents = store.documents(collection, None, 5_000).await.unwrap();
        documents.into_iter().map(|document| document.key).collect::<Vec<_>>()
    };
    world.pass(hours(2));
    world.prune(Time::ZERO).await;
    assert_eq!(left().await, ["always", "kept", "late", "renewed"]);
    world.pass(hours(2));
    world.prune(Time::ZERO).await;
    assert_eq!(left().await, ["always", "kept"]);
}

pub async fn usage_is_forgotten_after_a_year<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    // The world's clock starts in October 2025.
    for period in ["2019-12", "2024-08", "2024-12", "2025-10"] {
        world.store.spend(acme, period, 1, 10).await.unwrap();
    }
    world.prune(Time::ZERO).await;
    for (period, used) in [("2019-12", 0), ("2024-08", 0), ("2024-12", 1), ("2025-10", 1)] {
        assert_eq!(world.store.used(acme, period).await, Ok(used), "{period}");
    }
}

/// A node that was forgotten is as dead as one that is remembered.
pub async fn dead_nodes_are_forgotten<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let zombie = world.join().await;
    world.rescue().await;
    world.prune(Time::ZERO).await;
    let beat = world.store.heartbeat(zombie, world.now()).await;
    assert_eq!(beat, Err(StoreError::Fenced));
    let id = world.due(acme, world.target()).await;
    let held = world.store.claim(Claim { node: zombie, ..world.claim() }).await;
    assert!(
        held.is_err_and(|error| error == StoreError::Fenced) || {
            world.rescue().await;
            true
        }
    );
    assert_eq!(ids(&world.take_all().await), [id]);
    let next = world.join().await;
    assert!(next > zombie, "no number is given twice");
    assert_eq!(placed(&world.accept(world.event(acme)).await), []);
}
