//! The prefix of a large body is read without the rest. Alone in its process, because it counts what the
//! whole process reads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{
    EventId, IdMaker, Parcel, ParcelKind, SeededRandom, SystemClock, TenantId, TenantScope, Time,
};
use gancho_store::{Accept, Deliveries, NewParcel, NodeId};
use gancho_store_sqlite::{Options, SqliteStore};

const LARGE: usize = 5 << 20;
const PREFIX_BYTES: usize = 16 << 10;

/// Returns the bytes that this process has read from files so far.
fn bytes_read() -> usize {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_rest_of_a_body_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)));
    let tenant: TenantId = ids.make();
    let scope = TenantScope::internal(tenant);
    let options = Options::at(folder.path().join("gancho.db"));
    let store = SqliteStore::open(&options).unwrap();
    let mut made: Vec<EventId> = Vec::new();
    for _ in 0..20 {
        let parcel = Parcel {
            id: ids.make(),
            tenant,
            kind: ParcelKind::Email,
            event_type: "email".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::from(vec![b'x'; LARGE]),
            created_at: Time::from_secs(1_800_000_000),
            trace: None,
            erased_at: None,
        };
        made.push(parcel.id);
        let new = NewParcel {
            parcel: Arc::new(parcel),
            once: None,
            ledger: None,
            deliveries: Vec::new(),
        };
        store.accept(vec![new], NodeId(0)).await.unwrap();
    }

    // The minimum of several reads, because the writer's checkpoint reads as well while it runs.
    let mut read = usize::MAX;
    for _ in 0..20 {
        let before = bytes_read();
        let prefixes = store.body_prefixes(scope, made.clone(), PREFIX_BYTES).await.unwrap();
        read = read.min(bytes_read() - before);
        assert!(prefixes.iter().all(|(_, bytes)| bytes.len() == PREFIX_BYTES));
        assert_eq!(prefixes.len(), made.len());
    }
    assert!(read < made.len() * 4 * PREFIX_BYTES, "{read} bytes were read");

    // The counter works: one whole body is more than the prefixes of all.
    let before = bytes_read();
    store.event(scope, made[0]).await.unwrap().unwrap();
    assert!(bytes_read() - before >= LARGE);
}
