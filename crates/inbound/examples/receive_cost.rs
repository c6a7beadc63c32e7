//! Measures what receiving costs, without HTTP: signed bodies of 1 KiB from many concurrent callers into a
//! SQLite file with fsync, ledger and signed responses. `cargo run --release --example receive_cost -- 50000
//! 64`

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{sync::Arc, time::Instant};

use gancho_domain::{Clock, IdMaker, SystemClock, SystemRandom};
use gancho_egress::{Client, Settings};
use gancho_engine::{Engine, EngineSetup};
use gancho_inbound::{
    Inbound, InboundSetup, KeyDraft, Limits, Outcome, PolicyService, ReceivedRequest, SigningKeys,
    SourceDraft, SourceService, Sources,
};
use gancho_store::Store;
use gancho_store_sqlite::{Options, SqliteStore};
use gancho_vault::KeyRing;
use gancho_wire::{SecretEncoding, SigningKey, sign_as_partner};
use http::{HeaderMap, HeaderValue};

const SECRET: &str = "a secret of some length";

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().unwrap());
    let count = arguments.next().unwrap_or(20_000);
    let callers = arguments.next().unwrap_or(64);
    let folder = tempfile::tempdir().unwrap();
    let inbound = set_up(folder.path()).await;
    let key = SigningKey::hmac(SECRET, SecretEncoding::Raw).unwrap();
    let requests: Vec<ReceivedRequest> = (0..count).map(|number| request(&key, number)).collect();
    let requests = Arc::new(requests);
    let unsigned = requests[0].body.clone();

    let started = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (inbound, requests) = (inbound.clone(), requests.clone());
            tokio::spawn(async move {
                for request in requests.iter().skip(caller).step_by(callers) {
                    let outcome = inbound.receive(request).await;
                    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let took = started.elapsed();
    println!("{count} received in {took:.2?}: {:.0}/s", count as f64 / took.as_secs_f64());

    let mut invalid = requests[0].clone();
    invalid.headers.insert("x-signature", HeaderValue::from_static("hmac-sha256=AAAA"));
    invalid.body = unsigned;
    let started = Instant::now();
    for _ in 0..count {
        assert!(matches!(inbound.receive(&invalid).await, Outcome::Rejected(_)));
    }
    println!("a refusal costs {:.2?}", started.elapsed() / count as u32);
}

async fn set_up(folder: &std::path::Path) -> Arc<Inbound> {
    let store: Arc<dyn Store> = SqliteStore::open(&Options::at(folder.join("cost.db"))).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let random = Arc::new(SystemRandom);
    let ids = Arc::new(IdMaker::new(clock.clone(), random.clone()));
    let ring = Arc::new(KeyRing::generate().unwrap());
    let sources = Arc::new(Sources::new(store.clone(), ring.clone()));
    // There is no lane, so receipts stay in the store.
    let setup = EngineSetup::new(store.clone(), clock.clone(), random, Vec::new());
    let engine = Engine::start(setup);
    let engine = engine.await.unwrap();
    let service = SourceService {
        store: store.clone(),
        ring: ring.clone(),
        sources: sources.clone(),
        ids: ids.clone(),
        clock: clock.clone(),
        client: Client::new(Settings::for_dev()).unwrap(),
    };
    let draft = SourceDraft { partner: Some("acme".into()), ..SourceDraft::default() };
    service.create(draft).await.unwrap();
    let key = KeyDraft {
        scheme: Some("hmac".into()),
        secret: Some(SECRET.into()),
        ..KeyDraft::default()
    };
    service.put_key(&"acme".parse().unwrap(), "k1", key).await.unwrap();
    let keys = SigningKeys::open(store.clone(), ring, clock.clone()).await.unwrap();
    Arc::new(Inbound::new(InboundSetup {
        store,
        engine,
        sources,
        keys: Arc::new(keys),
        policy: Arc::new(PolicyService::open(None).unwrap()),
        ids,
        clock,
        limits: Limits::default(),
    }))
}

fn request(key: &SigningKey, number: usize) -> ReceivedRequest {
    let body = format!("{{\"event_id\":\"e_{number}\",\"filler\":\"{}\"}}", "x".repeat(980));
    let time = SystemClock.now().secs().to_string();
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let signature = sign_as_partner(key, &time, body.as_bytes());
    for (name, value) in
        [("x-timestamp", time), ("x-key-id", "k1".into()), ("x-signature", signature)]
    {
        headers.insert(name, HeaderValue::from_str(&value).unwrap());
    }
    ReceivedRequest::post("acme", headers, body)
}
