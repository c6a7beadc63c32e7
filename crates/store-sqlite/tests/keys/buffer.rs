//! The key buffer on a real file: migrated from an older schema, flushed when it had more than enough keys,
//! and with a log that is copied while it is written.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    IdMaker, Parcel, ParcelId, ParcelKind, SeededRandom, SystemClock, TenantId, TenantScope, Time,
};
use gancho_store::{
    Accept, AcceptOutcome, Deliveries, EventFilter, IdempotencyKey, NewParcel, NodeId, PageRequest,
};
use gancho_store_sqlite::{Options, SqliteStore};

const NOW: Time = Time::from_secs(1_000_000);
const DAY: Duration = Duration::from_hours(24);

fn ids() -> IdMaker {
    IdMaker::new(Arc::new(SystemClock), Arc::new(SeededRandom::new(1)))
}

fn parcel(id: ParcelId, tenant: TenantId, name: &str, key: [u8; 32]) -> NewParcel {
    let parcel = Parcel {
        id,
        tenant,
        kind: ParcelKind::Event,
        event_type: "a".into(),
        subject: None,
        external_id: Some(name.into()),
        is_test: false,
        body: Bytes::from_static(b"{}"),
        created_at: NOW,
        trace: None,
        erased_at: None,
    };
    let once = Some(IdempotencyKey { key, content: key, until: NOW + DAY });
    NewParcel { parcel: Arc::new(parcel), once, ledger: None, deliveries: Vec::new() }
}

async fn named(store: &SqliteStore, tenant: TenantId, name: &str) -> usize {
    let filter = EventFilter { external_id: Some(name.into()), ..EventFilter::default() };
    let scope = TenantScope::internal(tenant);
    store.events(scope, filter, PageRequest::first(10)).await.unwrap().rows.len()
}

/// Creates a file as the version before did: whole keys in their tree, and an index on external ids.
fn of_schema_2(path: &Path, tenant: TenantId, first: ParcelId, key: [u8; 32]) {
    let db = rusqlite::Connection::open(path).unwrap();
    for step in ["0001_core", "0002_leaving"] {
        let file = format!("{}/migrations/{step}.sql", env!("CARGO_MANIFEST_DIR"));
        db.execute_batch(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    db.execute_batch("PRAGMA application_id = 0x47616e63; PRAGMA user_version = 2").unwrap();
    db.execute(
        "INSERT INTO once_keys VALUES (?1, ?2, ?2, ?3, ?4)",
        rusqlite::params![tenant.bytes(), key, first.bytes(), (NOW + DAY).micros()],
    )
    .unwrap();
    db.execute(
        "INSERT INTO parcels (seq, tenant_id, id, kind, event_type, external_id, is_test, deliveries,
           created_at, body)
         VALUES (?1, ?2, ?3, ?5, 'a', 'order-1', 0, '[]', ?4, x'7b7d')",
        rusqlite::params![
            gancho_domain::id::lead(first),
            tenant.bytes(),
            first.bytes(),
            NOW.micros(),
            ParcelKind::Event.number()
        ],
    )
    .unwrap();
}

#[tokio::test]
async fn an_older_file_is_brought_up_with_its_keys_and_ids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let ids = ids();
    let (tenant, first, key) = (ids.make(), ids.make(), [7; 32]);
    of_schema_2(&path, tenant, first, key);
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    assert_eq!(named(&store, tenant, "order-1").await, 1);
    let again = parcel(ids.make(), tenant, "order-1", key);
    let told = store.accept(vec![again], NodeId(1)).await.unwrap();
    assert_eq!(told, [AcceptOutcome::Again { first }]);
}

#[tokio::test]
async fn more_than_enough_is_swept_when_the_file_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let (ids, mut firsts) = (ids(), Vec::new());
    let tenant = ids.make();
    let key = |number: u32| {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B1).to_be_bytes());
        key
    };
    let name = |number: u32| format!("order-{number}");
    {
        let store = SqliteStore::open(&Options::at(&path)).unwrap();
        for batch in 0..70 {
            let new: Vec<_> = (0..1_000)
                .map(|place| batch * 1_000 + place)
                .map(|number| parcel(ids.make(), tenant, &name(number), key(number)))
                .collect();
            firsts.extend(new.iter().map(|new| new.parcel.id));
            store.accept(new, NodeId(1)).await.unwrap();
        }
    }
    let count = |table: &str| -> i64 {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("once_lately"), 70_000);
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    for number in (0..70_000).step_by(1_111) {
        let again = parcel(ids.make(), tenant, &name(number), key(number));
        let told = store.accept(vec![again], NodeId(1)).await.unwrap();
        assert_eq!(told, [AcceptOutcome::Again { first: firsts[number as usize] }]);
        assert_eq!(named(&store, tenant, &name(number)).await, 1);
    }
    drop(store);
    assert_eq!((count("once_lately"), count("once_keys")), (0, 70_000));
    assert_eq!((count("external_lately"), count("external_ids")), (0, 70_000));
}

#[tokio::test]
async fn the_log_is_brought_into_the_file_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let ids = ids();
    let tenant = ids.make();
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let body = Bytes::from(vec![b'x'; 1 << 20]);
    // Fewer than make the store empty the log.
    for number in 0..200 {
        let NewParcel { parcel: one, .. } =
            parcel(ids.make(), tenant, &number.to_string(), [0; 32]);
        let one = Arc::new(Parcel { body: body.clone(), ..(*one).clone() });
        let new = NewParcel { parcel: one, once: None, ledger: None, deliveries: Vec::new() };
        store.accept(vec![new], NodeId(1)).await.unwrap();
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len() >> 20;
    let (file, log) = (size(&path), size(&path.with_extension("db-wal")));
    assert!(file > 30 && log < 200, "{file} MB in the file, {log} in the log");
}
