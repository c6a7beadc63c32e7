//! Dead letters in a bucket, with moto as S3, which checks every signature.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use gancho_archive::{
    S3Archive,
    s3::{Bucket, S3Settings},
};
use gancho_domain::{DeliveryId, Parcel, SystemClock, TenantScope};
use gancho_egress::{Client, Policy, Settings, aws::Credentials};
use gancho_engine::Archive;
use gancho_store::{ArchiveSelection, ContentErasure, DeadFilter, PageRequest};
use gancho_testkit::{
    python::PythonServer,
    receiver::{Receiver, Step},
    stores::StoreKind,
    wait_for,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};
use url::Url;
use zeroize::Zeroizing;

use crate::stage::{EMAIL, NEVER, Stage, WEBHOOK};

on_both! {
    letters_are_written_under_their_prefix
    a_missing_bucket_keeps_everything_until_it_is_there
    wrong_credentials_keep_everything
    an_overloaded_service_keeps_what_it_did_not_take
    a_service_that_goes_down_in_the_middle_loses_nothing
    an_erased_letter_leaves_the_bucket
}

const OFTEN: Duration = Duration::from_millis(50);

struct S3 {
    port: u16,
    key_id: String,
    secret: String,
    /// Stops with the tests.
    _server: PythonServer,
}

fn s3() -> &'static S3 {
    static S3: OnceLock<S3> = OnceLock::new();
    S3.get_or_init(|| {
        let server = PythonServer::start("crates/archive/tests/servers/s3.py", &[]).unwrap();
        let ready: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        let port = ready["s3"].as_u64().unwrap() as u16;
        S3 { port, key_id: text("key_id"), secret: text("secret"), _server: server }
    })
}

fn client(port: u16) -> Client {
    let url: Url = format!("http://127.0.0.1:{port}").parse().unwrap();
    Client::new(Settings { policy: Policy::for_operators(&url), ..Settings::default() }).unwrap()
}

impl S3 {
    /// Returns settings for an S3-compatible service at this port.
    fn settings(&self, port: u16, name: &str) -> S3Settings {
        S3Settings {
            location: format!("s3://{name}/some/where").parse().unwrap(),
            region: "us-east-1".into(),
            endpoint: Some(format!("http://127.0.0.1:{port}").parse().unwrap()),
            credentials: Credentials {
                key_id: self.key_id.clone(),
                secret: Zeroizing::new(self.secret.clone()),
                token: None,
            },
        }
    }

    /// Calls the part of the server that is not S3's, but the test's.
    async fn test(&self, path: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/test/{path}", self.port).parse().unwrap();
        let outcome = client(self.port).get(&url, Duration::from_secs(60), 64 << 20).await;
        let answer = outcome.answer.unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap()
    }

    async fn create(&self, bucket: &str) {
        self.test(&format!("create?bucket={bucket}")).await;
    }

    async fn objects(&self, bucket: &str) -> BTreeMap<String, String> {
        serde_json::from_value(self.test(&format!("objects?bucket={bucket}")).await).unwrap()
    }
}

fn archive(stage: &Stage, settings: S3Settings) -> Arc<S3Archive> {
    let port = settings.endpoint.as_ref().unwrap().port().unwrap();
    let bucket = Bucket::new(client(port), Arc::new(SystemClock), settings).unwrap();
    Arc::new(S3Archive::new(bucket, stage.store.clone()))
}

/// Returns the name of a bucket for one test on one store.
fn named(what: &str, on: StoreKind) -> String {
    format!("{what}-{on:?}").to_ascii_lowercase()
}

async fn bury(stage: &Stage, count: usize) -> BTreeSet<DeliveryId> {
    let mut ids = BTreeSet::new();
    for _ in 0..count {
        ids.insert(stage.bury(stage.tenant, WEBHOOK, br#"{"total": 9.90}"#).await);
    }
    ids
}

async fn in_store(stage: &Stage) -> BTreeSet<DeliveryId> {
    let mut ids = BTreeSet::new();
    let mut page = PageRequest::first(500);
    loop {
        let found = stage.store.dead_letters(DeadFilter::default(), page).await.unwrap();
        ids.extend(found.rows.iter().map(|letter| letter.delivery));
        match found.next {
            Some(next) => page = PageRequest::new(500, Some(next)),
            None => return ids,
        }
    }
}

fn archived(objects: &BTreeMap<String, String>) -> BTreeSet<DeliveryId> {
    let ids = objects.keys().map(|key| {
        let file = key.rsplit('/').next().unwrap();
        file.trim_end_matches(".json").parse().unwrap()
    });
    ids.collect()
}

async fn letters_are_written_under_their_prefix(on: StoreKind) {
    let (s3, name, stage) = (s3(), named("prefix", on), Stage::new(on).await);
    s3.create(&name).await;
    let archive = archive(&stage, s3.settings(s3.port, &name));
    let engine = stage.engine(archive, NEVER).await;
    let webhook = stage.bury(stage.tenant, WEBHOOK, br#"{"total": 9.90}"#).await;
    stage.clock.advance(Duration::from_secs(1));
    let email = stage.bury(stage.tenant, EMAIL, b"{\"to\":\"a@b.c\"}\n").await;
    // The engine's own round may archive them meanwhile.
    while stage.in_store().await > 0 {
        engine.archive_once().await.unwrap();
    }
    let objects = s3.objects(&name).await;
    let expected = [
        format!("some/where/webhooks/m2/2026-01-31/{webhook}.json"),
        format!("some/where/webhooks/m2/2026-02-01/{email}.json"),
    ];
    assert_eq!(objects.keys().cloned().collect::<Vec<_>>(), expected);
    let document: Value = serde_json::from_str(&objects[&expected[0]]).unwrap();
    assert_eq!(document["originalData"], json!({"total": 9.9}));
    assert_eq!(document["attempts"][0]["responseStatus"], 410);
    assert_eq!(engine.archive_once().await.unwrap(), 0, "each of them once");
}

async fn a_missing_bucket_keeps_everything_until_it_is_there(on: StoreKind) {
    let (s3, name, stage) = (s3(), named("missing", on), Stage::new(on).await);
    let archive = archive(&stage, s3.settings(s3.port, &name));
    let engine = stage.engine(archive, OFTEN).await;
    let letters = bury(&stage, 3).await;
    let why = engine.archive_once().await.unwrap_err().to_string();
    assert!(why.contains("NoSuchBucket") && why.contains("hint: create the bucket"), "{why}");
    assert_eq!(in_store(&stage).await, letters);
    s3.create(&name).await;
    wait_for("it goes on by itself", || async { (stage.in_store().await == 0).then_some(()) })
        .await;
    assert_eq!(archived(&s3.objects(&name).await), letters);
}

async fn wrong_credentials_keep_everything(on: StoreKind) {
    let (s3, name, stage) = (s3(), named("wrong", on), Stage::new(on).await);
    s3.create(&name).await;
    let right = s3.settings(s3.port, &name);
    let mut wrong = right.clone();
    wrong.credentials.secret = Zeroizing::new("canary-of-a-secret".into());
    let mut unknown = wrong.clone();
    unknown.credentials.key_id = "AKIAUNKNOWN".into();
    let engine = stage.engine(archive(&stage, wrong.clone()), NEVER).await;
    let letters = bury(&stage, 2).await;
    let selection = ArchiveSelection::Expired(gancho_domain::Time::MAX);
    let whole = stage.store.letters_to_archive(selection, 10, 1 << 20).await.unwrap();
    for (settings, code) in [(wrong, "SignatureDoesNotMatch"), (unknown, "InvalidAccessKeyId")] {
        let why = archive(&stage, settings).write_letters(&whole).await.unwrap_err().to_string();
        assert!(why.contains(code) && why.contains("hint: check the access key"), "{why}");
        assert!(!why.contains("canary") && !why.contains("AKIAUNKNOWN"), "{why}");
    }
    engine.archive_once().await.unwrap_err();
    assert_eq!(in_store(&stage).await, letters);
    assert_eq!(s3.objects(&name).await.len(), 0);
    archive(&stage, right).write_letters(&whole).await.unwrap();
    assert_eq!(archived(&s3.objects(&name).await), letters);
}

async fn an_overloaded_service_keeps_what_it_did_not_take(on: StoreKind) {
    // A separate server, because every write to it may fail.
    let server = PythonServer::start("crates/archive/tests/servers/s3.py", &[]).unwrap();
    let ready: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
    let text = |name: &str| ready[name].as_str().unwrap().to_owned();
    let port = ready["s3"].as_u64().unwrap() as u16;
    let s3 = S3 { port, key_id: text("key_id"), secret: text("secret"), _server: server };
    let (name, stage) = (named("overloaded", on), Stage::new(on).await);
    s3.create(&name).await;
    let engine = stage.engine(archive(&stage, s3.settings(s3.port, &name)), NEVER).await;
    let letters = bury(&stage, 120).await;
    // The first step of fifty is complete, the second is not.
    s3.test("fail?after=70&count=1000").await;
    let why = engine.archive_once().await.unwrap_err().to_string();
    assert!(why.contains("503 SlowDown") && why.contains("it is tried again"), "{why}");
    let (left, objects) = (in_store(&stage).await, archived(&s3.objects(&name).await));
    assert_eq!(left.len(), 70, "only what was confirmed has left");
    assert!(left.union(&objects).eq(letters.iter()), "each is in one of them");
    s3.test("fail?after=0&count=0").await;
    assert_eq!(engine.archive_once().await.unwrap(), 70);
    assert_eq!((in_store(&stage).await.len(), archived(&s3.objects(&name).await)), (0, letters));
}

/// Forwards this many bytes of requests to a port. After that every connection is closed, and no other is
/// accepted.
struct Line {
    port: u16,
    task: JoinHandle<()>,
}

impl Line {
    async fn to(target: u16, port: u16, bytes: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            let (left, ended) = (Arc::new(AtomicUsize::new(bytes)), Arc::new(Notify::new()));
            let mut open = JoinSet::new();
            loop {
                let (from, _) = tokio::select! {
                    accepted = listener.accept() => accepted.unwrap(),
                    () = ended.notified() => return,
                };
                open.spawn(pass(from, target, left.clone(), ended.clone()));
            }
        });
        Self { port, task }
    }
}

async fn pass(from: TcpStream, target: u16, left: Arc<AtomicUsize>, ended: Arc<Notify>) {
    let to = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
    let ((mut requests, mut back), (mut answers, mut on)) = (from.into_split(), to.into_split());
    let there = async {
        let mut buffer = [0; 4_096];
        loop {
            let count = requests.read(&mut buffer).await.unwrap_or(0);
            let is_enough = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(count));
            if is_enough.is_err() {
                ended.notify_one();
                return;
            }
            if count == 0 || on.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = there => {}
        _ = tokio::io::copy(&mut answers, &mut back) => {}
    }
}

async fn a_service_that_goes_down_in_the_middle_loses_nothing(on: StoreKind) {
    let (s3, name, stage) = (s3(), named("down", on), Stage::new(on).await);
    s3.create(&name).await;
    // About half of the size of the dead letters: more than the first step of fifty.
    let Line { port, task } = Line::to(s3.port, 0, 180_000).await;
    let engine = stage.engine(archive(&stage, s3.settings(port, &name)), NEVER).await;
    let letters = bury(&stage, 150).await;
    let why = engine.archive_once().await.unwrap_err().to_string();
    assert!(why.contains(&format!("cannot reach 127.0.0.1:{port}")), "{why}");
    task.await.unwrap();
    let (left, objects) = (in_store(&stage).await, archived(&s3.objects(&name).await));
    assert!(!left.is_empty() && left.len() < 150, "it was cut in the middle: {}", left.len());
    assert!(left.union(&objects).eq(letters.iter()), "each is in one of them");
    let why = engine.archive_once().await.unwrap_err().to_string();
    assert!(why.contains("cannot reach"), "{why}");
    assert_eq!(in_store(&stage).await, left, "nothing leaves while it is down");
    let _line = Line::to(s3.port, port, usize::MAX).await;
    assert_eq!(engine.archive_once().await.unwrap(), left.len() as u64);
    assert_eq!(archived(&s3.objects(&name).await), letters);
}

async fn an_erased_letter_leaves_the_bucket(on: StoreKind) {
    let (s3, name, stage) = (s3(), named("erased", on), Stage::new(on).await);
    s3.create(&name).await;
    let engine = stage.engine(archive(&stage, s3.settings(s3.port, &name)), NEVER).await;
    let erased = stage.bury(stage.tenant, WEBHOOK, br#"{"name":"canary"}"#).await;
    let other = stage.bury(stage.tenant, WEBHOOK, br#"{"name":"other"}"#).await;
    assert_eq!(engine.archive_once().await.unwrap(), 2);
    stage.clock.advance(Duration::from_hours(48));
    let scope = TenantScope::internal(stage.tenant);
    let event = stage.store.delivery(scope, erased).await.unwrap().unwrap().parcel.id;
    let null = |_: &Parcel| Bytes::from_static(b"null");
    let done = engine.erase_content(scope, event, null).await.unwrap();
    assert_eq!((done.outcome, done.archived), (ContentErasure::Erased, 1));
    assert_eq!(archived(&s3.objects(&name).await), BTreeSet::from([other]));
    let again = engine.erase_content(scope, event, null).await.unwrap();
    assert_eq!((again.outcome, again.archived), (ContentErasure::AlreadyErased, 0));
}

/// A service that accepts everything and stores nothing.
#[tokio::test]
async fn what_the_service_does_not_have_is_not_confirmed() {
    let stage = Stage::new(StoreKind::Sqlite).await;
    let yes = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let receiver = Receiver::plain(move |_| vec![Step::ReadRequest, Step::send(yes)]);
    let receiver = receiver.await.unwrap();
    let archive = archive(&stage, s3().settings(receiver.port(), "liar"));
    let engine = stage.engine(archive, NEVER).await;
    bury(&stage, 1).await;
    let why = engine.archive_once().await.unwrap_err().to_string();
    assert!(why.contains("has 0 bytes in the bucket instead of"), "{why}");
    assert_eq!(stage.in_store().await, 1);
    let methods: Vec<String> = receiver
        .requests()
        .iter()
        .map(|request| request.text().split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(methods, ["PUT", "HEAD"]);
}
