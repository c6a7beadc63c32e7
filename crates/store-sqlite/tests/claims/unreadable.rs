//! A row that cannot be read delays only itself.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, IdMaker, SeededRandom, SystemClock};
use gancho_store::{Accept, Claiming};
use gancho_store_sqlite::{Options, SqliteStore};

use crate::world::{NODE, claim_at, event};

#[tokio::test]
async fn an_unreadable_delivery_is_postponed_and_the_others_are_claimed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let now = SystemClock.now();
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let events: Vec<_> = (0..3).map(|_| event(&ids, ids.make(), &[ids.make()], now)).collect();
    let broken = events[0].deliveries[0].id;
    store.accept(events, NODE).await.unwrap();
    drop(store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE parcels SET kind = 99 WHERE seq = (SELECT min(seq) FROM parcels)", [])
        .unwrap();
    drop(db);

    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let first = store.claim(claim_at(now)).await.unwrap();
    assert_eq!(first.jobs.len(), 2);
    assert!(first.jobs.iter().all(|job| job.delivery != broken));
    let second = store.claim(claim_at(now)).await.unwrap();
    assert_eq!((second.jobs.len(), second.more), (0, false));

    // Once it can be read, it is delivered.
    drop(store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE parcels SET kind = 2 WHERE kind = 99", []).unwrap();
    drop(db);
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let later = store.claim(claim_at(now + Duration::from_secs(301))).await.unwrap();
    assert_eq!(later.jobs.iter().map(|job| job.delivery).collect::<Vec<_>>(), [broken]);
}
