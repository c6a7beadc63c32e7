//! What tenants write beside each other, on a store in a file.

use std::{
    future::Future,
    sync::mpsc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use gancho_domain::{TenantId, TenantScope, Time};
use gancho_store::{
    Collection, CollectionLimit, Documents, NewSuppression, Precondition, Suppression,
    Suppressions, suppressions::MAX_SUPPRESSED,
};

use super::{turns::MAX_ROWS, *};
use crate::SqliteStore;

const ACME: TenantScope = TenantScope::internal(TenantId::from_bits(1));
const GLOBEX: TenantScope = TenantScope::internal(TenantId::from_bits(2));

fn open(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    SqliteStore::open(&Options::at(folder.path().join("gancho.db"))).unwrap()
}

/// Starts a call, which continues without being polled.
fn begin<F: Future + Unpin>(call: &mut F) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(std::pin::Pin::new(call).poll(&mut context), Poll::Pending));
}

fn addresses(from: usize, count: usize) -> Vec<NewSuppression> {
    let new = |number| NewSuppression {
        suppression: Suppression {
            address: format!("{number}@example.com"),
            reason: "manual".into(),
            detail: None,
            since: Time::from_secs(1),
        },
        replaces: false,
    };
    (from..from + count).map(new).collect()
}

/// Starts calls of one tenant while the writer is busy, and then calls of others. Returns how many rows of the
/// tenant are in the table when those of the others are committed.
async fn rows_before_others<F: Future + Unpin>(
    store: &Arc<SqliteStore>,
    table: &str,
    calls: Vec<F>,
) -> i64 {
    let (begun, has_begun) = mpsc::channel();
    let (release, wait) = mpsc::channel::<()>();
    let mut busy = Box::pin(store.write(move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
        Ok(())
    }));
    begin(&mut busy);
    has_begun.recv().unwrap();
    let mut calls = calls;
    calls.iter_mut().for_each(begin);
    let mut other = store.suppress(GLOBEX, addresses(0, 1));
    begin(&mut other);
    // Such as a publish and a heartbeat. Results of attempts are the last steps of a transaction.
    let mut publish = Box::pin(store.write_more(|_| Ok(())));
    begin(&mut publish);
    let sql = format!(
        "SELECT (SELECT count(*) FROM {table} WHERE tenant_id = ?1),
           (SELECT count(*) FROM suppressions WHERE tenant_id = ?2)"
    );
    let values = [ACME, GLOBEX].map(|scope| scope.tenant().bytes());
    let mut heartbeat = Box::pin(store.write(move |tx| {
        Ok(tx
            .db
            .query_row(&sql, values, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?)
    }));
    begin(&mut heartbeat);
    release.send(()).unwrap();
    busy.await.unwrap();
    publish.await.unwrap();
    let (rows, others) = heartbeat.await.unwrap();
    assert_eq!(others, 1, "the other tenant's call is in the same transaction");
    assert_eq!(other.await, Ok(1));
    for call in calls {
        call.await;
    }
    rows
}

#[tokio::test]
async fn imports_of_a_tenant_delay_nobody_elses_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let import = |number: usize| {
        let new = addresses(number * MAX_SUPPRESSED, MAX_SUPPRESSED);
        store.suppress(ACME, new)
    };
    let rows = rows_before_others(&store, "suppressions", (0..40).map(import).collect()).await;
    assert!(rows <= MAX_ROWS as i64, "{rows} rows were written before");
    let all = store.suppressions(ACME, None, 20_000).await.unwrap().len();
    assert_eq!(all, 40 * MAX_SUPPRESSED, "and all are written in the end");
}

/// Each change of such a collection reads all of it.
#[tokio::test]
async fn changes_of_large_collections_delay_nobody_elses_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let limit = CollectionLimit { max_count: 1_000, max_bytes: 16 << 20 };
    let collection = Collection::of(ACME, "event_type");
    let put = |number: usize| {
        let (store, key) = (store.clone(), number.to_string());
        Box::pin(async move {
            let body = Bytes::from(vec![b' '; 100_000]);
            store.put_document_within(collection, &key, body, Precondition::Nothing, limit).await
        })
    };
    let rows = rows_before_others(&store, "records", (0..100).map(put).collect()).await;
    assert!(rows <= 8, "{rows} documents were written before");
}

/// The gateway's own steps keep the order of their calls, and take no turns.
#[tokio::test]
async fn what_the_gateway_writes_keeps_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (note, noted) = mpsc::channel();
    let step = |number: usize| {
        let note = note.clone();
        Box::pin(store.write(move |_| {
            let _ = note.send(number);
            Ok(())
        }))
    };
    let mut calls: Vec<_> = (0..2_000).map(step).collect();
    for call in &mut calls {
        begin(call);
    }
    for call in calls {
        call.await.unwrap();
    }
    drop(note);
    assert_eq!(noted.iter().collect::<Vec<_>>(), (0..2_000).collect::<Vec<_>>());
}
