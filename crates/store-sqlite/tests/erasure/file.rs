//! Erased content does not stay in the file: neither in freed pages nor in the unused parts of others.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{
    Clock, IdMaker, NextStep, Parcel, ParcelId, SeededRandom, SystemClock, TenantScope,
};
use gancho_store::{
    Accept, Claiming, ContentErasure, Deliveries, Erasure, NewParcel, Settle, Settlement,
};
use gancho_store_sqlite::{Options, SqliteStore};

use crate::world::{NODE, claim_at, event};

const CANARY: &str = "canary-7f3a";

struct Shape {
    /// The size of each body in bytes.
    body: usize,
    /// Events before, with and after the canary.
    counts: [usize; 3],
}

async fn deliver_all(store: &SqliteStore) {
    let jobs = store.claim(claim_at(SystemClock.now())).await.unwrap().jobs;
    let done = |job| Settlement::of(job, SystemClock.now(), None, NextStep::Delivered);
    store.settle(NODE, jobs.iter().map(done).collect()).await.unwrap();
}

/// Accepts and delivers events, erases those with the canary, and returns how often it is in the file.
async fn leftovers(shape: &Shape) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let (tenant, target) = (ids.make(), ids.make());
    let mut erased: Vec<ParcelId> = Vec::new();
    for (kind, count) in shape.counts.into_iter().enumerate() {
        for number in 0..count {
            let mut new: NewParcel = event(&ids, tenant, &[target], SystemClock.now());
            let mut parcel = Parcel::clone(&new.parcel);
            // Subjects are in random order, so that pages of their index are split anywhere.
            let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let word = if kind == 1 { CANARY } else { "ordinary-xy" };
            parcel.subject = Some(format!("{mixed:016x} {kind} {word}").into());
            parcel.body = Bytes::from(format!("{word} ").repeat(shape.body / 12 + 1));
            if kind == 1 {
                erased.push(parcel.id);
            }
            new.parcel = Arc::new(parcel);
            store.accept(vec![new], NODE).await.unwrap();
        }
        deliver_all(&store).await;
    }
    let scope = TenantScope::internal(tenant);
    // Their rows change before they are erased, so that large bodies move to other pages.
    for id in &erased {
        let to: NewParcel = event(&ids, tenant, &[ids.make()], SystemClock.now());
        assert!(store.redeliver(scope, id.cast(), to.deliveries).await.unwrap());
    }
    deliver_all(&store).await;
    for id in erased {
        let replacement = Bytes::from_static(b"{}");
        let outcome = store.erase_content(scope, id, replacement, SystemClock.now()).await;
        assert_eq!(outcome.unwrap(), ContentErasure::Erased);
    }
    drop(store);
    let file = std::fs::read(&path).unwrap();
    file.windows(CANARY.len()).filter(|part| *part == CANARY.as_bytes()).count()
}

#[tokio::test]
async fn what_is_erased_is_not_in_the_file() {
    let mut left = Vec::new();
    for body in [100, 1_000, 5_000, 40_000] {
        for counts in [[0, 6, 60], [0, 300, 300], [300, 300, 300]] {
            let count = leftovers(&Shape { body, counts }).await;
            left.push((body, counts, count));
        }
    }
    let left: Vec<_> = left.into_iter().filter(|(_, _, count)| *count > 0).collect();
    assert!(left.is_empty(), "left in the file: {left:?}");
}
