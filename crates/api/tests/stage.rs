//! A whole gateway on a real store, with clients for it.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use gancho_access::OperatorToken;
use gancho_api::{
    Api, ApiSetup, InboundParts, Ingest, IngestSettings, ListenSettings, Settings,
    key_ring::KeyRingService,
    listen, router,
    state::MailParts,
    watch::{Watch, WatchSetup},
};
use gancho_domain::{Clock, IdMaker, Lane, Random, RetryPlan, SystemClock, SystemRandom};
use gancho_egress::Policy;
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits};
use gancho_inbound::{
    Checkpointer, DispatchCarrier, Inbound, InboundSetup, PolicyService, SigningKeys,
    SourceService, Sources, checkpoints::CheckpointSettings,
};
use gancho_mail::{
    MailCarrier, MailLimits, Outbox, Sink, Suppressions, TenantLimits, Transport, limits,
};
use gancho_outbound::{Outbound, OutboundSetup, Plan, Plans};
use gancho_testkit::{
    receiver::{Receiver, Step},
    stores::{StoreKind, StorePlace},
};
use gancho_vault::KeyRing;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::{Client, Reply};

pub const ADMIN: &str = "operator-token-of-the-tests";

pub struct Stage {
    pub api: Api,
    pub address: SocketAddr,
    /// The address that partners post to.
    pub ingest: SocketAddr,
    pub stop: CancellationToken,
    engine: Arc<Engine>,
    pub place: StorePlace,
    pub checkpoints: TempDir,
}

#[derive(Default)]
pub struct Choices {
    pub settings: Settings,
    pub listen: ListenSettings,
    pub key_keeper: Option<Arc<dyn KeyRingService>>,
    pub ingest: IngestSettings,
    /// The e-mail transport. Default: a sink.
    pub transport: Option<Arc<dyn Transport>>,
    /// The plan of e-mails. Default: a short one.
    pub mail_plan: Option<RetryPlan>,
    /// Maximum rows that a page of a list scans. Default: the usual number.
    pub max_scanned: Option<usize>,
    /// Whether it only sends webhooks: it neither receives any nor sends e-mails.
    pub is_bare: bool,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(Choices::default()).await
    }

    pub async fn with(choices: Choices) -> Self {
        Self::on(StoreKind::Sqlite, choices).await
    }

    pub async fn postgres() -> Self {
        Self::postgres_with(Choices::default()).await
    }

    pub async fn postgres_with(choices: Choices) -> Self {
        Self::on(StoreKind::Postgres, choices).await
    }

    #[expect(clippy::too_many_lines, reason = "a whole gateway is put together")]
    async fn on(kind: StoreKind, choices: Choices) -> Self {
        let place = StorePlace::new(kind).await.with_max_looks(choices.max_scanned);
        let store = place.open().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let ids = Arc::new(IdMaker::new(clock.clone(), random.clone()));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let few = Plan { endpoints: Some(1), events: Some(2) };
        let outbound = Outbound::new(OutboundSetup {
            plans: Plans::built_in().with("few", few),
            ..OutboundSetup::new(store.clone(), ring.clone(), ids.clone(), clock.clone())
        });
        let registry = outbound.registry.clone();
        let policy = Policy { allow_http: true, ..Policy::for_dev() };
        let client =
            gancho_egress::Client::new(gancho_egress::Settings { policy, ..Default::default() })
                .unwrap();
        let suppressions = Arc::new(Suppressions { store: store.clone(), clock: clock.clone() });
        let short = RetryPlan::Exponential {
            base: Duration::from_millis(20),
            max: Duration::from_millis(100),
            attempts: 5,
        };
        let mut sink = None;
        let transport = choices
            .transport
            .unwrap_or_else(|| sink.insert(Arc::new(Sink::new(clock.clone(), 100))).clone());
        let emails = limits::lane(MailCarrier {
            transport,
            registry: registry.clone(),
            suppressions: suppressions.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            plan: Arc::new(choices.mail_plan.unwrap_or(short)),
            limits: Arc::new(TenantLimits::default()),
            message_id_domain: None,
        });
        let sources = Arc::new(Sources::new(store.clone(), ring.clone()));
        let dispatch = DispatchCarrier::new(sources.clone(), client.clone(), clock.clone());
        let lanes = vec![
            LaneSetup::new(Lane::Webhook, Arc::new(outbound.carrier(&client))),
            LaneSetup::new(Lane::Dispatch, Arc::new(dispatch)),
            emails,
        ];
        let engine = Engine::start(EngineSetup {
            limits: Limits {
                poll: Duration::from_millis(20),
                statistics_flush: Duration::from_millis(50),
                ..Limits::default()
            },
            ..EngineSetup::new(store.clone(), clock.clone(), random, lanes)
        })
        .await
        .unwrap();
        let signing = SigningKeys::open(store.clone(), ring.clone(), clock.clone()).await.unwrap();
        let signing = Arc::new(signing);
        let checkpoints = tempfile::tempdir().unwrap();
        let checkpointer = Checkpointer::open(
            store.clone(),
            signing.clone(),
            clock.clone(),
            CheckpointSettings::new("gancho.test/ledger", checkpoints.path()),
        );
        let checkpointer = Arc::new(checkpointer);
        let inbound = Arc::new(Inbound::new(InboundSetup {
            store: store.clone(),
            engine: engine.clone(),
            sources: sources.clone(),
            keys: signing,
            policy: Arc::new(PolicyService::open(None).unwrap()),
            ids: ids.clone(),
            clock: clock.clone(),
            limits: gancho_inbound::Limits::default(),
        }));
        let desk = Arc::new(SourceService {
            store: store.clone(),
            ring: ring.clone(),
            sources,
            ids: ids.clone(),
            clock: clock.clone(),
            client: client.clone(),
        });
        let ingest =
            Ingest::new(inbound.clone(), ring.clone(), ids.clone(), choices.ingest.clone());
        let replays = Arc::new(outbound.replays());
        let stop = CancellationToken::new();
        let (running, until) = (replays.clone(), stop.clone());
        tokio::spawn(async move { running.run(until).await });
        let (orphans, until) = (outbound.orphans.clone(), stop.clone());
        tokio::spawn(async move { orphans.run(|_| {}, until).await });
        let watch = Watch::new(WatchSetup {
            store: store.clone(),
            engine: engine.clone(),
            clock: clock.clone(),
            inbound: Some(inbound.clone()),
            data_dir: None,
        });
        let outbox = Arc::new(Outbox {
            store: store.clone(),
            engine: engine.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            limits: MailLimits::default(),
        });
        let setup = ApiSetup {
            mail: (!choices.is_bare).then_some(MailParts { outbox, suppressions, sink }),
            reader: store.clone(),
            store,
            engine: engine.clone(),
            publisher: Arc::new(outbound.publisher(engine.clone())),
            endpoints: Arc::new(outbound.endpoints(&client)),
            event_types: outbound.event_types,
            plans: outbound.plans,
            replays,
            registry,
            ids,
            clock,
            watch,
            key_ring: choices.key_keeper,
            cells: None,
            reloader: None,
            inbound: (!choices.is_bare).then_some(InboundParts {
                sources: desk,
                inbound,
                checkpointer,
            }),
            alerts: None,
            settings: choices.settings,
        };
        let api = Api::new(setup, OperatorToken::new(ADMIN).unwrap(), ring);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes = router(&api, axum::Router::new());
        let listening = choices.listen.clone();
        tokio::spawn(listen(listener, api.clone(), routes, listening, stop.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ingest_address = listener.local_addr().unwrap();
        let until = stop.clone();
        tokio::spawn(async move { ingest.listen(listener, choices.listen, until).await });
        Self { api, address, ingest: ingest_address, stop, engine, place, checkpoints }
    }

    pub fn anyone(&self) -> Client {
        Client { address: self.address, headers: Vec::new() }
    }

    /// Returns a client of the ingest listener.
    pub fn partner(&self) -> Client {
        Client { address: self.ingest, headers: Vec::new() }
    }

    pub fn operator(&self) -> Client {
        self.anyone().with("authorization", &format!("Bearer {ADMIN}"))
    }

    /// Creates a tenant, and a client with one of its keys that has every scope.
    pub async fn tenant(&self, slug: &str) -> Hands {
        self.tenant_with(json!({"slug": slug})).await
    }

    pub async fn tenant_with(&self, draft: Value) -> Hands {
        let made = self.operator().post("/v1/tenants", &draft).await.is(201).json();
        let slug = made["slug"].as_str().unwrap().to_owned();
        let client = self.key(&slug, &["publish", "read", "manage"]).await;
        Hands { client, slug, id: made["id"].as_str().unwrap().to_owned() }
    }

    /// Returns a client with a new key that has these scopes.
    pub async fn key(&self, slug: &str, scopes: &[&str]) -> Client {
        let path = format!("/v1/tenants/{slug}/api-keys");
        let made = self.operator().post(&path, &json!({"scopes": scopes})).await.is(201).json();
        self.anyone().with("x-api-key", made["key"].as_str().unwrap())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
        self.engine.abort();
    }
}

/// A tenant and its client.
pub struct Hands {
    pub client: Client,
    pub slug: String,
    pub id: String,
}

impl Hands {
    pub async fn webhook(&self, url: &str) -> Value {
        self.webhook_with(json!({"url": url, "events": ["*"]})).await
    }

    pub async fn webhook_with(&self, draft: Value) -> Value {
        self.client.post("/v1/webhooks", &draft).await.is(201).json()
    }

    pub async fn publish(&self, event_type: &str, data: Value) -> Value {
        let event = json!({"type": event_type, "data": data});
        self.client.post("/v1/events", &event).await.is(202).json()
    }

    /// Waits until the one delivery of an event has this status.
    pub async fn delivery(&self, event: &Value, status: &str) -> Value {
        let path =
            format!("/v1/deliveries?event_id={}&status={status}", event["id"].as_str().unwrap());
        let reply = eventually(|| async {
            let reply = self.client.get(&path).await.is(200);
            (reply.json()["data"].as_array().unwrap().len() == 1).then_some(reply)
        });
        reply.await.json()["data"][0].clone()
    }
}

/// Waits until there is a value, or fails the test.
pub async fn eventually<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    gancho_testkit::wait_for("it comes to that", look).await
}

/// Starts a receiver that answers every request with this status.
pub async fn receiver(status: u16) -> (Receiver, String) {
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\nx-seen: yes\r\n\r\nok");
    let receiver = Receiver::plain(move |_| {
        (0..1_000).flat_map(|_| [Step::ReadRequest, Step::send(&answer)]).collect()
    });
    let receiver = receiver.await.unwrap();
    let url = format!("http://127.0.0.1:{}/hook", receiver.port());
    (receiver, url)
}

/// Makes a dead letter of this tenant, of a webhook that answers 500 and is tried once.
pub async fn dead_letter(hands: &Hands, url: &str) -> (Value, Value) {
    let draft = json!({"url": url, "events": ["dead.letter"], "retry": {"schedule": []}});
    let webhook = hands.webhook_with(draft).await;
    let event = hands.publish("dead.letter", json!({"n": 1})).await;
    (webhook, hands.delivery(&event, "failed").await)
}

/// Returns the ids of a list, so that its rows can be compared.
pub fn ids(reply: &Reply) -> Vec<String> {
    let rows = reply.json()["data"].as_array().unwrap().clone();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}
