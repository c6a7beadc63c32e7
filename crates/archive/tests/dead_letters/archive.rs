//! Dead letters of every lane, from a real store into a directory.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use gancho_archive::FolderArchive;
use gancho_domain::{Lane, Parcel, ParcelKind, TenantId, TenantScope, Time};
use gancho_engine::{Archive, Engine};
use gancho_store::{ArchiveSelection, ContentErasure, DeadFilter};
use gancho_testkit::stores::StoreKind;
use serde_json::{Value, json};

use crate::stage::{EMAIL, NEVER, Stage as Common, WEBHOOK};

struct Stage(Common);

impl std::ops::Deref for Stage {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.0
    }
}

impl Stage {
    async fn new() -> Self {
        Self(Common::new(StoreKind::Sqlite).await)
    }

    fn root(&self) -> PathBuf {
        self.place.folder().join("data/archive")
    }

    fn archive(&self) -> Arc<FolderArchive> {
        Arc::new(FolderArchive::new(self.root(), self.store.clone()))
    }

    async fn engine(&self) -> Arc<Engine> {
        self.0.engine(self.archive(), NEVER).await
    }

    /// Returns every file of the archive, by its path in it.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        read(&self.root(), &self.root(), &mut files);
        files
    }
}

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    assert_eq!(mode(folder), 0o700, "{}", folder.display());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn each_lane_has_its_place() {
    let stage = Stage::new().await;
    let engine = stage.engine().await;
    let webhook = stage.bury(stage.tenant, WEBHOOK, br#"{"total": 9.90}"#).await;
    stage.clock.advance(Duration::from_secs(1));
    let email = stage.bury(stage.tenant, EMAIL, b"{\"to\":\"a@b.c\"}\n").await;
    let source: TenantId = stage.ids.make();
    let label = (Lane::Dispatch, ParcelKind::Receipt, "acme/k1/orders/create");
    let receipt = stage.bury(source, label, b"\0not JSON").await;
    let sly = (Lane::Dispatch, ParcelKind::Receipt, "../k1");
    let invalid = stage.bury(source, sly, b"{}").await;
    let nobody: TenantId = stage.ids.make();
    let orphan = stage.bury(nobody, WEBHOOK, b"[]").await;
    assert_eq!(engine.archive_once().await.unwrap(), 5);

    let files = stage.files();
    let expected = [
        format!("webhooks/m2/2026-01-31/{webhook}.json"),
        format!("webhooks/m2/2026-02-01/{email}.json"),
        format!("webhooks/acme/2026-02-01/{receipt}.json"),
        format!("webhooks/{source}/2026-02-01/{invalid}.json"),
        format!("webhooks/{nobody}/2026-02-01/{orphan}.json"),
    ];
    let mut sorted = expected.to_vec();
    sorted.sort();
    assert_eq!(files.keys().cloned().collect::<Vec<_>>(), sorted);
    assert_eq!(stage.in_store().await, 0);
    let [webhook, email, receipt, ..] =
        expected.map(|name| serde_json::from_slice::<Value>(&files[&name]).unwrap());
    assert_eq!(webhook["originalData"], json!({"total": 9.9}));
    assert_eq!(webhook.get("originalDataBase64"), None);
    assert_eq!(email["originalData"], json!({"to": "a@b.c"}));
    assert_eq!(email["originalDataBase64"], "eyJ0byI6ImFAYi5jIn0K", "byte for byte");
    assert!(email["subjectId"].as_str().unwrap().starts_with("out_"));
    assert_eq!(receipt.get("originalData"), None);
    assert_eq!(receipt["originalDataBase64"], "AG5vdCBKU09O");
    assert_eq!(receipt["tenant"], "acme");
    assert!(receipt["subjectId"].as_str().unwrap().starts_with("rcp_"));
    for lane in Lane::ALL {
        assert!(engine.archived(lane) > 0);
    }
}

#[tokio::test]
async fn a_document_tells_all() {
    let stage = Stage::new().await;
    let engine = stage.engine().await;
    let id = stage.bury(stage.tenant, WEBHOOK, br#"{"a":1,"a":2}"#).await;
    let letter =
        stage.store.dead_letters(DeadFilter::default(), gancho_store::PageRequest::first(1));
    let letter = letter.await.unwrap().rows.remove(0);
    engine.archive_once().await.unwrap();
    let files = stage.files();
    let text = String::from_utf8(files.into_values().next().unwrap()).unwrap();
    assert!(text.contains(r#""originalData": {"a":1,"a":2}"#), "as it was given: {text}");
    let mut read: Value = serde_json::from_str(&text).unwrap();
    let at = Value::String("2026-01-31T23:59:59.000Z".into());
    read.as_object_mut().unwrap().remove("originalData");
    assert_eq!(
        read,
        json!({
            "deliveryId": id.to_string(),
            "lane": "webhook",
            "tenant": "m2",
            "tenantId": stage.tenant.to_string(),
            "subjectId": letter.parcel.to_string(),
            "subject": "order-1",
            "targetId": letter.target.to_string(),
            "eventType": "invoice.paid",
            "externalId": "inv-1",
            "isTest": false,
            "failedAttempts": 1,
            "lastFailureReason": "it is gone",
            "lastProviderCode": "410",
            "lastFailureCode": "HTTP_410",
            "lastFailureTimestamp": "2026-01-31T23:59:59.001Z",
            "enqueuedAt": at,
            "movedToDLQAt": at,
            "expiresAt": "2026-02-07T23:59:59.000Z",
            "attempts": [{
                "attempt": 1,
                "startedAt": read["attempts"][0]["startedAt"],
                "latencyMs": 1.5,
                "requestHeaders": ["authorization: ***", "content-type: text/plain"],
                "responseStatus": 410,
                "responseHeaders": ["server: a receiver"],
                "responseBodyBase64": "//4=",
                "failureReason": "it is gone",
                "failureCode": "HTTP_410",
            }],
        })
    );
}

#[tokio::test]
async fn kept_twice_it_is_the_same() {
    let stage = Stage::new().await;
    let engine = stage.engine().await;
    stage.bury(stage.tenant, WEBHOOK, b"{}").await;
    stage.bury(stage.tenant, EMAIL, b"\xff").await;
    // As if the process had died before they left the store.
    let whole = stage
        .store
        .letters_to_archive(ArchiveSelection::Expired(Time::MAX), 10, 1 << 20)
        .await
        .unwrap();
    stage.archive().write_letters(&whole).await.unwrap();
    let first = stage.files();
    assert_eq!((first.len(), stage.in_store().await), (2, 2));
    assert_eq!(engine.archive_once().await.unwrap(), 2);
    assert_eq!((stage.files(), stage.in_store().await), (first, 0));
}

#[tokio::test]
async fn what_cannot_be_written_stays() {
    let stage = Stage::new().await;
    let engine = stage.engine().await;
    stage.bury(stage.tenant, WEBHOOK, b"{}").await;
    fs::create_dir_all(stage.root().parent().unwrap()).unwrap();
    fs::write(stage.root(), "in the way").unwrap();
    let error = engine.archive_once().await.unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.contains("hint:"), "{error}");
    assert_eq!(stage.in_store().await, 1);
    fs::remove_file(stage.root()).unwrap();
    assert_eq!(engine.archive_once().await.unwrap(), 1);
    assert_eq!((stage.files().len(), stage.in_store().await), (1, 0));
}

/// Erased dead letters are removed from the archive too, and no others.
#[tokio::test]
async fn an_erased_letter_leaves_the_archive() {
    let stage = Stage::new().await;
    let engine = stage.engine().await;
    let erased = stage.bury(stage.tenant, WEBHOOK, br#"{"name":"canary"}"#).await;
    let other = stage.bury(stage.tenant, WEBHOOK, br#"{"name":"other"}"#).await;
    assert_eq!(engine.archive_once().await.unwrap(), 2);
    assert_eq!(stage.files().len(), 2);
    stage.clock.advance(Duration::from_hours(48));
    let scope = TenantScope::internal(stage.tenant);
    let event = stage.store.delivery(scope, erased).await.unwrap().unwrap().parcel.id;
    let null = |_: &Parcel| Bytes::from_static(b"null");
    let done = engine.erase_content(scope, event, null).await.unwrap();
    assert_eq!((done.outcome, done.archived), (ContentErasure::Erased, 1));
    let left = stage.files();
    assert_eq!(left.len(), 1);
    assert!(left.keys().all(|name| name.ends_with(&format!("{other}.json"))), "{left:?}");
    let again = engine.erase_content(scope, event, null).await.unwrap();
    assert_eq!((again.outcome, again.archived), (ContentErasure::AlreadyErased, 0));
}
