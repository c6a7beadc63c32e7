use std::{
    future::Future,
    sync::mpsc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use gancho_domain::{Tenant, TenantId, TenantScope, Time};
use gancho_store::{DeliveryFilter, EventFilter, PageRequest};

use super::*;
use crate::{Options, SqliteStore};

const ACME: TenantId = TenantId::from_bits(1);

fn open(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    SqliteStore::open(&Options::at(folder.path().join("gancho.db"))).unwrap()
}

/// Starts a read, which continues without being polled.
fn begin<F: Future + Unpin>(read: &mut F) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(std::pin::Pin::new(read).poll(&mut context), Poll::Pending));
}

/// Longer than any machine takes: it ends only by being interrupted.
const ENDLESS: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
    SELECT count(*) FROM n";

/// faults.md 4: look-ups of publishing and of a supervisor are answered while every thread that reads lists
/// is busy.
#[tokio::test]
async fn lookups_are_answered_while_all_list_readers_are_busy() {
    use gancho_store::{Collection, Deliveries, Documents, Endpoints, Pauses, Tenants, Upkeep};
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    store.create_tenant(Tenant::new(ACME, "acme", Time::from_secs(1))).await.unwrap();
    let (release, wait) = crossbeam_channel::bounded::<()>(0);
    let mut busy = Vec::new();
    for number in 0..10 {
        let wait = wait.clone();
        let mut read =
            Box::pin(store.readers.lists.run(Some(TenantId::from_bits(number)), move |_| {
                let _ = wait.recv();
                Ok(())
            }));
        begin(&mut read);
        busy.push(read);
    }
    let scope = TenantScope::internal(ACME);
    let mut list = store.deliveries(scope, DeliveryFilter::default(), PageRequest::first(1));
    begin(&mut list);

    assert!(store.tenant(ACME).await.unwrap().is_some());
    assert!(store.tenant_by_slug("acme").await.unwrap().is_some());
    assert_eq!(store.endpoints(scope).await.unwrap().len(), 0);
    assert_eq!(store.find_document("api_key", "nobody").await.unwrap(), None);
    assert_eq!(store.documents(Collection::of(scope, "types"), None, 10).await.unwrap().len(), 0);
    assert_eq!(store.pauses().await.unwrap().len(), 0);
    assert_eq!(store.depths().await.unwrap().len(), 3);

    drop((release, busy));
    assert_eq!(list.await.unwrap().rows.len(), 0);
}

/// faults.md 4: one tenant does not get all threads that read lists.
#[tokio::test]
async fn a_tenant_leaves_a_list_reader_for_others() {
    use gancho_store::Deliveries;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (release, wait) = crossbeam_channel::bounded::<()>(0);
    let mut busy = Vec::new();
    for _ in 0..100 {
        let wait = wait.clone();
        let mut read = Box::pin(store.readers.lists.run(Some(ACME), move |_| {
            let _ = wait.recv();
            Ok(())
        }));
        begin(&mut read);
        busy.push(read);
    }
    let other = TenantScope::internal(TenantId::from_bits(2));
    let listed = store.events(other, EventFilter::default(), PageRequest::first(1)).await;
    assert_eq!(listed.unwrap().rows.len(), 0);
    drop((release, busy));
}

/// faults.md 4: connecting and leaving costs nothing. A waiting read is not started.
#[tokio::test]
async fn a_read_whose_caller_has_gone_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let lists = &store.readers.lists;
    let (release, wait) = mpsc::channel::<()>();
    let mut busy = Box::pin(lists.run(Some(ACME), move |_| {
        let _ = wait.recv();
        Ok(())
    }));
    begin(&mut busy);
    let (note, noted) = mpsc::channel();
    for number in 0..50 {
        let note = note.clone();
        let mut read = Box::pin(lists.run(Some(ACME), move |_| {
            note.send(number).unwrap();
            Ok(())
        }));
        begin(&mut read);
        if number == 49 {
            assert_eq!(lists.waiting(), 1, "those before have gone");
            release.send(()).unwrap();
            busy.as_mut().await.unwrap();
            read.await.unwrap();
        }
    }
    drop(note);
    assert_eq!(noted.iter().collect::<Vec<_>>(), [49]);
}

/// A running read is interrupted.
#[tokio::test]
async fn a_read_under_way_is_interrupted_when_its_caller_goes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    for group in [&store.readers.lookups, &store.readers.lists, &store.readers.upkeep] {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let mut read = Box::pin(group.run(Some(ACME), move |db| {
            begun.send(()).unwrap();
            let counted = db.query_row(ENDLESS, [], |row| row.get::<_, i64>(0));
            ended.send(counted.err().and_then(|error| error.sqlite_error_code())).unwrap();
            Ok(())
        }));
        begin(&mut read);
        has_begun.recv().unwrap();
        drop(read);
        let code = has_ended.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(code, Some(rusqlite::ErrorCode::OperationInterrupted));
        // The thread is free for the next read, which is not interrupted.
        let counted = group.run(Some(ACME), |db| {
            Ok(db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?)
        });
        assert!(counted.await.unwrap() > 0);
    }
}

#[tokio::test]
async fn closing_waits_for_no_read_that_nobody_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (begun, has_begun) = mpsc::channel();
    let mut read = Box::pin(store.readers.lists.run(Some(ACME), move |db| {
        begun.send(()).unwrap();
        Ok(db.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
    }));
    begin(&mut read);
    has_begun.recv().unwrap();
    drop(read);
    let started = Instant::now();
    drop(store);
    assert!(started.elapsed() < Duration::from_secs(30));
}

/// Unknown API keys are looked up on a separate account, and all pauses are read beside the look-ups: neither
/// delays look-ups of the gateway and of tenants.
#[tokio::test]
async fn strangers_delay_no_lookups_of_others() {
    use gancho_store::{Account, Documents, Endpoints, Pauses, Tenants};
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (release, wait) = crossbeam_channel::bounded::<()>(0);
    let mut busy = Vec::new();
    for _ in 0..1_000 {
        let wait = wait.clone();
        let mut read = Box::pin(store.readers.lookups.run(Account::Strangers, move |_| {
            let _ = wait.recv();
            Ok(())
        }));
        begin(&mut read);
        busy.push(read);
    }
    let mut unknown = store.find_document("api_key", "nobody");
    begin(&mut unknown);
    assert_eq!(store.tenant_by_slug("acme").await.unwrap(), None);
    assert_eq!(store.endpoints(TenantScope::internal(ACME)).await.unwrap().len(), 0);
    let mut all = Vec::new();
    for number in 0..10 {
        let wait = wait.clone();
        let account = Some(TenantId::from_bits(number));
        let mut read = Box::pin(store.readers.lookups.run(account, move |_| {
            let _ = wait.recv();
            Ok(())
        }));
        begin(&mut read);
        all.push(read);
    }
    assert_eq!(store.pauses().await.unwrap().len(), 0, "while every reader of lookups is taken");
    drop((release, busy, all));
    assert_eq!(unknown.await.unwrap(), None);
}

/// What tenants cause is read by the threads of lists: the gateway's own reader is left to pruning, expiry and
/// counts, and a thread that it keeps busy delays no tenant.
#[tokio::test]
async fn tenants_do_not_read_on_the_gateways_reader() {
    use gancho_store::{Deliveries, Erasure};
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let (release, wait) = crossbeam_channel::bounded::<()>(0);
    let mut busy = Box::pin(store.readers.upkeep.run(Account::Gateway, move |_| {
        let _ = wait.recv();
        Ok(())
    }));
    begin(&mut busy);
    let (scope, other) = (TenantScope::internal(ACME), TenantId::from_bits(2));
    let of_both = [ACME, other].map(|tenant| (tenant, gancho_domain::Id::from_bits(1)));
    let reads = async {
        store.parcels_about(scope, "order-1".into(), None, 10).await.unwrap();
        store.count_deliveries(vec![of_both[0]]).await.unwrap();
        store.count_deliveries(of_both.into()).await.unwrap();
    };
    let read = tokio::time::timeout(Duration::from_secs(30), reads).await;
    assert!(read.is_ok(), "a tenant's read waits for the gateway's");
    drop(release);
    busy.await.unwrap();
}
