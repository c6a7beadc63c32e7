//! A line of the ledger is written with its parcel or not at all, and never changed.

use std::sync::Arc;

use gancho_domain::parcel::ParcelKind;
use gancho_ledger::Audit;

use super::{
    Fixture,
    build::{World, hours},
};
use crate::AcceptOutcome;

/// Verifies the whole ledger and returns all entries in order.
async fn audited<F: Fixture>(world: &World<F>) -> Vec<String> {
    let mut audit = Audit::new(Vec::new()).unwrap();
    let mut entries = Vec::new();
    loop {
        let lines = world.store.ledger_lines(entries.len() as u64, 7).await.unwrap();
        if lines.is_empty() {
            break;
        }
        for line in lines {
            audit.take(&line).unwrap();
            entries.push(String::from_utf8(line.entry).unwrap());
        }
    }
    assert_eq!(audit.finish().unwrap().head.number, entries.len() as u64);
    assert_eq!(world.store.ledger_size().await.unwrap(), entries.len() as u64);
    entries
}

pub async fn an_empty_ledger_is_sound<F: Fixture>() {
    let world = World::<F>::new().await;
    assert_eq!(audited(&world).await, Vec::<String>::new());
}

pub async fn lines_come_in_the_order_of_the_parcels<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = |entry: &str| world.event(acme).kind(ParcelKind::Receipt).in_ledger(entry);
    world.accept_all(vec![draft("one"), world.event(acme), draft("two")]).await;
    world.accept(draft("three")).await;
    assert_eq!(audited(&world).await, ["one", "two", "three"]);
}

pub async fn a_line_is_found_by_its_parcel<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (first, second, plain) =
        (world.event(acme).in_ledger("one"), world.event(acme).in_ledger("two"), world.event(acme));
    let ids = [first.id(), second.id(), plain.id()];
    world.accept_all(vec![first, second, plain]).await;

    let line = world.store.ledger_line_of(ids[1]).await.unwrap().unwrap();
    assert_eq!((line.number, line.entry.as_slice()), (2, b"two".as_slice()));
    assert_eq!(world.store.ledger_lines(1, 1).await.unwrap(), [line]);
    assert_eq!(world.store.ledger_line_of(ids[2]).await.unwrap(), None);
    assert_eq!(world.store.ledger_line_of(world.id()).await.unwrap(), None);
}

pub async fn what_was_seen_before_has_no_second_line<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let until = world.now() + hours(24);
    let draft = |content, entry| world.event(acme).once(1, content, until).in_ledger(entry);
    world.accept(draft(1, "one")).await;
    assert!(matches!(world.accept(draft(1, "again")).await, AcceptOutcome::Again { .. }));
    assert!(matches!(world.accept(draft(2, "clash")).await, AcceptOutcome::Clash { .. }));
    world.accept(world.event(acme).in_ledger("two")).await;
    assert_eq!(audited(&world).await, ["one", "two"]);
}

pub async fn fifty_at_once_make_one_chain<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..50 {
        let (store, node) = (Arc::clone(&world.store), world.node);
        // With subjects too, so that other rows are locked meanwhile.
        let draft = |part| {
            let subject = format!("s{}", (call + part) % 5);
            world.event(acme).about(&subject).in_ledger(&format!("{call}.{part}")).done()
        };
        let batch = vec![draft(0), draft(1), draft(2)];
        calls.spawn(async move { store.accept(batch, node).await.unwrap() });
    }
    calls.join_all().await;

    let entries = audited(&world).await;
    assert_eq!(entries.len(), 150);
    for call in 0..50 {
        let mine =
            entries.iter().filter(|entry| entry.split('.').next() == Some(&call.to_string()));
        let parts: Vec<&str> = mine.filter_map(|entry| entry.split('.').nth(1)).collect();
        assert_eq!(parts, ["0", "1", "2"], "the lines of call {call}");
    }
}

pub async fn the_chain_goes_on_after_a_restart_and_after_pruning<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).in_ledger("one");
    let id = draft.id();
    world.accept(draft).await;
    world.pass(hours(48));
    assert_eq!(world.prune(world.now() - hours(1)).await, 1);
    let world = world.reopen().await;
    assert_eq!(world.find_event(acme, id).await, None, "the parcel is gone");
    assert!(world.store.ledger_line_of(id).await.unwrap().is_some(), "its line stays");
    world.accept(world.event(acme).in_ledger("two")).await;
    assert_eq!(audited(&world).await, ["one", "two"]);
}

/// The ledger has only hashes, so it verifies whatever was erased.
pub async fn erasing_content_leaves_the_ledger_sound<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = |entry: &str| world.event(acme).kind(ParcelKind::Receipt).in_ledger(entry);
    let drafts = vec![draft("one"), draft("two"), draft("three")];
    world.accept_all(drafts.clone()).await;
    let replacement = bytes::Bytes::from_static(b"null");
    let scope = super::build::scope(acme);
    let erased = world.store.erase_content(scope, drafts[1].id(), replacement, world.now()).await;
    assert_eq!(erased, Ok(crate::ContentErasure::Erased));
    assert_eq!(audited(&world).await, ["one", "two", "three"]);
}
