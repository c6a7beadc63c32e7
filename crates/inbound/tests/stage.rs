//! What the tests share: a store, nodes on it, a partner that signs, and a core that receives.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use aws_lc_rs::hmac;
use bytes::Bytes;
use data_encoding::BASE64;
use gancho_domain::{Clock, IdMaker, Lane, ManualClock, RetryDraft, SeededRandom};
use gancho_egress::{Client, Policy, Settings};
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits as EngineLimits};
use gancho_inbound::{
    Acceptance, DispatchCarrier, Inbound, InboundSetup, InternalSink, InternalSinkError,
    InternalTarget, KeyDraft, Limits, Outcome, Partner, PolicyService, Receipt, ReceiptFilter,
    ReceiptStatus, Receipts, ReceiveError, ReceivedRequest, SigningKeys, SourceDraft,
    SourceService, Sources,
};
use gancho_store::{PageRequest, Store};
use gancho_testkit::{
    http_request::answering,
    receiver::Receiver,
    stores::{StoreKind, StorePlace},
    wait_for,
};
use gancho_vault::KeyRing;
use http::{HeaderMap, HeaderName, HeaderValue};

/// 2026-11-15T06:37:00Z
pub const START: i64 = 1_794_724_620;
pub const SECRET: &str = "a secret of some length";

pub struct Stage {
    pub node: Node,
    pub clock: Arc<ManualClock>,
    pub ring: Arc<KeyRing>,
    pub place: StorePlace,
}

/// One process on the store.
pub struct Node {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub sources: Arc<Sources>,
    pub desk: SourceService,
    pub inbound: Arc<Inbound>,
    pub keys: Arc<SigningKeys>,
    pub receipts: Receipts,
    pub internal_target: Arc<Taker>,
}

/// The internal target of this gateway. It records what it gets, and answers as the test says.
#[derive(Default)]
pub struct Taker {
    pub answers: Mutex<VecDeque<Result<String, InternalSinkError>>>,
    pub taken: Mutex<Vec<Bytes>>,
}

#[async_trait]
impl InternalSink for Taker {
    async fn take(&self, _: InternalTarget, body: &[u8]) -> Result<String, InternalSinkError> {
        self.taken.lock().unwrap().push(Bytes::copy_from_slice(body));
        self.answers.lock().unwrap().pop_front().unwrap_or_else(|| Ok("taken".into()))
    }
}

impl Stage {
    pub async fn sqlite() -> Self {
        Self::on(StoreKind::Sqlite).await
    }

    pub async fn postgres() -> Self {
        Self::on(StoreKind::Postgres).await
    }

    async fn on(kind: StoreKind) -> Self {
        let place = StorePlace::new(kind).await;
        let clock = Arc::new(ManualClock::at_secs(START));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let node = Node::start(place.open().await, &clock, &ring, 1, true).await;
        Self { node, clock, ring, place }
    }

    /// Starts another node, with its own connection if the store allows that.
    pub async fn second_node(&self) -> Node {
        self.another(7, true).await
    }

    /// Starts a node that dispatches, but not to internal targets.
    pub async fn node_without_inside(&self, seed: u64) -> Node {
        let (store, clock) = (self.node.store.clone(), &self.clock);
        Node::with(store, clock, &self.ring, seed, true, false).await
    }

    /// Starts a node. `works` is whether it has the dispatch lane; otherwise it only receives.
    pub async fn another(&self, seed: u64, works: bool) -> Node {
        let store =
            if self.is_postgres() { self.place.open().await } else { self.node.store.clone() };
        Node::start(store, &self.clock, &self.ring, seed, works).await
    }

    pub fn is_postgres(&self) -> bool {
        self.place.database().is_some()
    }

    /// Creates a source for `acme` with the key `k1` that dispatches to the receiver.
    pub async fn acme(&self, core: &Receiver) {
        self.source("acme", core, SourceDraft::default()).await;
    }

    pub async fn source(&self, partner: &str, core: &Receiver, draft: SourceDraft) {
        let draft = SourceDraft {
            partner: Some(partner.to_owned()),
            target_url: draft.targets.is_none().then(|| url(core)),
            ..draft
        };
        self.node.desk.create(draft).await.unwrap();
        self.put_key(partner, "k1", hmac_key(SECRET)).await;
    }

    pub async fn put_key(&self, partner: &str, key_id: &str, draft: KeyDraft) {
        self.node.desk.put_key(&name(partner), key_id, draft).await.unwrap();
    }

    pub async fn send(&self, request: &ReceivedRequest) -> Outcome {
        self.node.inbound.receive(request).await
    }

    pub async fn kept(&self, request: &ReceivedRequest) -> Acceptance {
        kept(self.send(request).await)
    }

    pub async fn denied(&self, request: &ReceivedRequest) -> ReceiveError {
        match self.send(request).await {
            Outcome::Rejected(denied) => denied,
            other => panic!("{other:?}"),
        }
    }

    pub async fn receipts(&self, partner: &str) -> Vec<Receipt> {
        self.receipts_of(partner, None).await
    }

    pub async fn receipts_of(&self, partner: &str, status: Option<ReceiptStatus>) -> Vec<Receipt> {
        let source = self.node.desk.get(&name(partner)).await.unwrap();
        let filter = ReceiptFilter { status, ..ReceiptFilter::default() };
        let page = PageRequest::first(1_000);
        self.node.receipts.list(source.scope(), filter, page).await.unwrap().rows
    }

    pub async fn ledger(&self) -> Vec<serde_json::Value> {
        let lines = self.node.store.ledger_lines(0, 10_000).await.unwrap();
        lines.iter().map(|line| serde_json::from_slice(&line.entry).unwrap()).collect()
    }

    /// Advances the clock until the only receipt of a partner has the status.
    pub async fn until(&self, partner: &str, status: ReceiptStatus) -> Receipt {
        wait_for(status.name(), || async {
            let found = self.receipts(partner).await.into_iter().next();
            self.clock.advance(Duration::from_millis(500));
            found.filter(|receipt| receipt.status == status)
        })
        .await
    }

    pub fn clock_step(&self) {
        self.clock.advance(Duration::from_millis(500));
    }

    /// Returns a request as partner `acme` sends it.
    pub fn signed(&self, body: &str) -> ReceivedRequest {
        signed("acme", "k1", SECRET, &self.clock.now().secs().to_string(), body)
    }
}

impl Node {
    pub async fn start(
        store: Arc<dyn Store>,
        clock: &Arc<ManualClock>,
        ring: &Arc<KeyRing>,
        seed: u64,
        works: bool,
    ) -> Self {
        Self::with(store, clock, ring, seed, works, true).await
    }

    async fn with(
        store: Arc<dyn Store>,
        clock: &Arc<ManualClock>,
        ring: &Arc<KeyRing>,
        seed: u64,
        works: bool,
        has_inside: bool,
    ) -> Self {
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(seed))));
        let sources = Arc::new(Sources::new(store.clone(), ring.clone()));
        let client = Client::new(settings()).unwrap();
        let internal_target = Arc::new(Taker::default());
        let carrier = DispatchCarrier::new(sources.clone(), client.clone(), clock.clone());
        let carrier =
            if has_inside { carrier.with_internal_sink(internal_target.clone()) } else { carrier };
        let lane = LaneSetup::new(Lane::Dispatch, Arc::new(carrier));
        let lanes = if works { vec![lane] } else { Vec::new() };
        let random = Arc::new(SeededRandom::new(seed + 1));
        let engine = Engine::start(EngineSetup {
            limits: EngineLimits { poll: Duration::from_millis(20), ..EngineLimits::default() },
            name: format!("node {seed}"),
            ..EngineSetup::new(store.clone(), clock.clone(), random, lanes)
        })
        .await
        .unwrap();
        let keys = SigningKeys::open(store.clone(), ring.clone(), clock.clone()).await.unwrap();
        let keys = Arc::new(keys);
        let inbound = Inbound::new(InboundSetup {
            store: store.clone(),
            engine: engine.clone(),
            sources: sources.clone(),
            keys: keys.clone(),
            policy: Arc::new(PolicyService::open(None).unwrap()),
            ids: ids.clone(),
            clock: clock.clone(),
            limits: Limits::default(),
        });
        let desk = SourceService {
            store: store.clone(),
            ring: ring.clone(),
            sources: sources.clone(),
            ids,
            clock: clock.clone(),
            client,
        };
        let receipts = Receipts { store: store.clone() };
        let inbound = Arc::new(inbound);
        Self { store, engine, sources, desk, inbound, keys, receipts, internal_target }
    }
}

fn settings() -> Settings {
    Settings {
        policy: Policy { allow_http: true, ..Policy::for_dev() },
        connect_timeout: Duration::from_millis(500),
        ..Settings::default()
    }
}

pub fn name(partner: &str) -> Partner {
    partner.parse().unwrap()
}

pub fn url(core: &Receiver) -> String {
    format!("http://127.0.0.1:{}/core/hooks/ingest", core.port())
}

pub fn hmac_key(secret: &str) -> KeyDraft {
    KeyDraft {
        scheme: Some("hmac".into()),
        algo: Some("sha256".into()),
        secret: Some(secret.into()),
        ..KeyDraft::default()
    }
}

/// A retry plan with two quick retries.
pub fn quick() -> RetryDraft {
    RetryDraft::Exponential { base: "1s".into(), max: "2s".into(), attempts: 3 }
}

pub fn raw(text: &str) -> Box<serde_json::value::RawValue> {
    serde_json::value::RawValue::from_string(text.to_owned()).unwrap()
}

pub fn mac(secret: &str, base: impl AsRef<[u8]>) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, base.as_ref()).as_ref().to_vec()
}

pub fn signed(
    partner: &str,
    key_id: &str,
    secret: &str,
    time: &str,
    body: &str,
) -> ReceivedRequest {
    let signature = BASE64.encode(&mac(secret, format!("{time}.{body}")));
    request(partner, body)
        .with("x-timestamp", time)
        .with("x-key-id", key_id)
        .with("x-signature", &format!("hmac-sha256={signature}"))
}

/// Returns a request without a signature.
pub fn request(partner: &str, body: &str) -> ReceivedRequest {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    ReceivedRequest::post(partner, headers, Bytes::from(body.to_owned()))
}

pub trait Spoil {
    /// Replaces any other header of this name.
    fn with(self, name: &str, value: &str) -> Self;
    /// Adds a header besides any other of this name.
    fn and(self, name: &str, value: &str) -> Self;
    fn without(self, name: &str) -> Self;
    fn body(self, body: &str) -> Self;
    fn to(self, partner: &str) -> Self;
}

impl Spoil for ReceivedRequest {
    fn with(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    fn and(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    fn body(mut self, body: &str) -> Self {
        self.body = Bytes::from(body.to_owned());
        self
    }

    fn to(mut self, partner: &str) -> Self {
        partner.clone_into(&mut self.partner);
        self
    }
}

pub fn kept(outcome: Outcome) -> Acceptance {
    match outcome {
        Outcome::Accepted(kept) => kept,
        other => panic!("{other:?}"),
    }
}

pub async fn core() -> Receiver {
    answering(|_| "200 OK").await
}
