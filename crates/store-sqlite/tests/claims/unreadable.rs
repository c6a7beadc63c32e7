//! A row that cannot be read delays nobody but itself.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{Clock, IdMaker, Kind, Lane, Parcel, SeededRandom, SystemClock, Time};
use gancho_store::{
    Accept, Claim, ClaimCursor, ClaimResult, Claiming, NewDelivery, NewParcel, NodeId,
};
use gancho_store_sqlite::{Options, SqliteStore};

const NODE: NodeId = NodeId(1);

fn event(ids: &IdMaker, now: Time) -> NewParcel {
    let parcel = Parcel {
        id: ids.make(),
        tenant: ids.make(),
        kind: Kind::Event,
        event_type: "a".into(),
        subject: None,
        external_id: None,
        is_test: false,
        body: Bytes::from_static(b"{}"),
        created_at: now,
        trace: None,
        erased_at: None,
    };
    let delivery = NewDelivery {
        id: ids.make(),
        lane: Lane::Webhook,
        target: ids.make(),
        due_at: now,
        in_order: false,
        hold: false,
    };
    NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![delivery] }
}

async fn claim(store: &SqliteStore, now: Time) -> ClaimResult {
    let claim = Claim {
        node: NODE,
        lane: Lane::Webhook,
        now,
        max: 10,
        max_bytes: 1 << 20,
        per_target: 10,
        per_proven: 10,
        per_tenant: 10,
        proven: Arc::default(),
        skip: Arc::default(),
        cursor: ClaimCursor::default(),
    };
    store.claim(claim).await.unwrap()
}

#[tokio::test]
async fn it_is_put_off_and_the_others_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let now = SystemClock.now();
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let events: Vec<_> = (0..3).map(|_| event(&ids, now)).collect();
    let broken = events[0].deliveries[0].id;
    store.accept(events, NODE).await.unwrap();
    drop(store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE parcels SET kind = 99 WHERE seq = (SELECT min(seq) FROM parcels)", [])
        .unwrap();
    drop(db);

    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let first = claim(&store, now).await;
    assert_eq!(first.jobs.len(), 2);
    assert!(first.jobs.iter().all(|job| job.delivery != broken));
    let second = claim(&store, now).await;
    assert_eq!((second.jobs.len(), second.more), (0, false));

    // Once it can be read, it is delivered.
    drop(store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE parcels SET kind = 2 WHERE kind = 99", []).unwrap();
    drop(db);
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let later = claim(&store, now + Duration::from_secs(301)).await;
    assert_eq!(later.jobs.iter().map(|job| job.delivery).collect::<Vec<_>>(), [broken]);
}
