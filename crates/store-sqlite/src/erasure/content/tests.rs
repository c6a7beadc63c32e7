//! Erasing in several steps, with what may happen between them.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{Id, Lane, Parcel, ParcelKind, TenantId};
use gancho_store::{Accept, Deliveries, NewDelivery, NewParcel, NodeId};

use super::*;
use crate::{
    Options, SqliteStore,
    states::{DEAD, PENDING},
};

const ACME: TenantScope = TenantScope::internal(TenantId::from_bits(1));
const NOW: Time = Time::from_secs(1_000_000);
const EVENT: ParcelId = ParcelId::from_bits(1 << 65);

fn delivery(number: u128) -> NewDelivery {
    NewDelivery {
        id: Id::from_bits(number << 65),
        lane: Lane::Webhook,
        target: Id::from_bits(number),
        due_at: NOW,
        in_order: false,
        hold: false,
    }
}

/// Opens a store with an event whose deliveries, too many for one step, have all ended.
async fn store(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    let store = SqliteStore::open(&Options::at(folder.path().join("gancho.db"))).unwrap();
    let parcel = Parcel {
        id: EVENT,
        tenant: ACME.tenant(),
        kind: ParcelKind::Event,
        event_type: "a".into(),
        subject: None,
        external_id: None,
        is_test: false,
        body: Bytes::from_static(b"{}"),
        created_at: NOW,
        trace: None,
        erased_at: None,
    };
    let new = NewParcel {
        parcel: Arc::new(parcel),
        once: None,
        ledger: None,
        deliveries: vec![delivery(2)],
    };
    store.accept(vec![new], NodeId(1)).await.unwrap();
    let more = (3..3 + MAX_ROWS as u128).map(delivery).collect();
    assert!(store.redeliver(ACME, EVENT.cast(), more).await.unwrap());
    change(&store, &format!("UPDATE deliveries SET state = {DEAD}")).await;
    store
}

async fn change(store: &SqliteStore, sql: &str) {
    let sql = sql.to_owned();
    store.write(move |tx| Ok(tx.db.execute(&sql, []).map(drop)?)).await.unwrap();
}

async fn step(store: &SqliteStore, before: Progress) -> Step {
    store.write(move |tx| erase(tx, ACME, EVENT, before, b"null", NOW)).await.unwrap()
}

async fn first_step(store: &SqliteStore) -> Progress {
    match step(store, Progress::default()).await {
        Step::More(progress) => progress,
        Step::Done(outcome) => panic!("{outcome:?} in one step"),
    }
}

#[tokio::test]
async fn a_step_erases_a_bounded_number_of_rows_and_the_last_one_the_parcel() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    let progress = first_step(&store).await;
    assert_eq!((progress.deliveries, progress.attempts), (MAX_ROWS, 0));
    let view = store.event(ACME, EVENT.cast()).await.unwrap().unwrap();
    assert_eq!(view.parcel.erased_at, None);
    assert!(matches!(step(&store, progress).await, Step::Done(ContentErasure::Erased)));
    let view = store.event(ACME, EVENT.cast()).await.unwrap().unwrap();
    assert_eq!((&*view.parcel.body, view.parcel.erased_at), (b"null".as_slice(), Some(NOW)));
}

/// What a delivery got by a retry between two steps is not left behind.
#[tokio::test]
async fn a_delivery_that_was_retried_between_two_steps_is_erased_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder).await;
    let (progress, row) = (first_step(&store).await, seq(delivery(2).id));
    change(&store, &format!("UPDATE deliveries SET state = {PENDING} WHERE seq = {row}")).await;
    let outcome = step(&store, progress).await;
    assert!(matches!(outcome, Step::Done(ContentErasure::InFlight)), "it is retried");
    let ended = format!("UPDATE deliveries SET state = {DEAD}, attempts = 1 WHERE seq = {row}");
    change(&store, &ended).await;
    let outcome = step(&store, progress).await;
    assert!(matches!(outcome, Step::Done(ContentErasure::InFlight)), "it has another attempt");
    let progress = first_step(&store).await;
    assert!(matches!(step(&store, progress).await, Step::Done(ContentErasure::Erased)));
}
