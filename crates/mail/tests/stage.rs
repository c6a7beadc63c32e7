//! What the tests share: a gateway without its API, and ways to wait for what happens.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gancho_domain::{
    Clock, EmailId, IdMaker, Lane, ManualClock, RetryPlan, SeededRandom, Tenant, TenantScope,
};
use gancho_egress::{Client, Policy, Settings};
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits};
use gancho_mail::{
    EmailDraft, EmailStatus, EmailView, FeedbackService, MailCarrier, MailLimits, Outbox,
    Suppressions, TenantLimits, Transport, limits,
};
use gancho_outbound::{
    EndpointDraft, EndpointService, HealthService, Notifier, OrphanSweeper, Plans, Registry,
    WebhookCarrier,
};
use gancho_store::{DeadFilter, DeadLetter, EventFilter, EventView, PageRequest, Store};
use gancho_store_postgres::PostgresStore;
use gancho_store_sqlite::SqliteStore;
use gancho_testkit::{
    http_request::answering,
    postgres::{Database, fresh_database},
    receiver::Receiver,
    wait_for,
};
use gancho_vault::KeyRing;
use gancho_wire::Profile;
use serde_json::Value;
use tempfile::TempDir;

/// 2026-11-15T06:37:00Z
pub const START: i64 = 1_794_724_620;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Sqlite,
    Postgres,
}

pub struct Setup {
    pub limits: MailLimits,
    pub tenants: TenantLimits,
    /// What to change of the e-mail lane.
    pub lane: fn(LaneSetup) -> LaneSetup,
    /// Whether e-mails are sent at all.
    pub is_at_work: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: MailLimits::default(),
            tenants: TenantLimits::default(),
            lane: |lane| LaneSetup { rate: None, ..lane },
            is_at_work: true,
        }
    }
}

pub struct Stage {
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    pub engine: Arc<Engine>,
    pub outbox: Arc<Outbox>,
    pub suppressions: Arc<Suppressions>,
    pub feedback: FeedbackService,
    pub desk: EndpointService,
    pub tenant: Tenant,
    pub scope: TenantScope,
    _folder: TempDir,
    /// After everything that uses it.
    pub database: Option<Database>,
}

async fn open(on: On, folder: &TempDir) -> (Arc<dyn Store>, Option<Database>) {
    match on {
        On::Sqlite => {
            let options = gancho_store_sqlite::Options::at(folder.path().join("test.db"));
            (SqliteStore::open(&options).unwrap(), None)
        }
        On::Postgres => {
            let database = fresh_database().await.unwrap();
            let options = gancho_store_postgres::Options::default();
            let store = PostgresStore::connect(&database.url(), options).await.unwrap();
            (store, Some(database))
        }
    }
}

impl Stage {
    pub async fn new(on: On, transport: impl Transport) -> Self {
        Self::with(on, Arc::new(transport), Setup::default()).await
    }

    pub async fn with(on: On, transport: Arc<dyn Transport>, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, database) = open(on, &folder).await;
        let clock = Arc::new(ManualClock::at_secs(START));
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(seed()))));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let registry =
            Arc::new(Registry::new(store.clone(), ring.clone(), Profile::built_in().into()));
        let client = client();
        let tenant = Tenant::new(ids.make(), "m2", clock.now());
        store.create_tenant(tenant.clone()).await.unwrap();
        let suppressions = Arc::new(Suppressions { store: store.clone(), clock: clock.clone() });
        let mail = MailCarrier {
            transport,
            registry: registry.clone(),
            suppressions: suppressions.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            plan: Arc::new(RetryPlan::EMAIL),
            limits: setup.tenants,
            message_id_domain: None,
        };
        let mut lanes = vec![webhooks(&store, &registry, &ids, &clock, &client)];
        if setup.is_at_work {
            lanes.push((setup.lane)(limits::lane(mail)));
        }
        let engine = Engine::start(EngineSetup {
            store: store.clone(),
            clock: clock.clone(),
            random: Arc::new(SeededRandom::new(2)),
            lanes,
            limits: Limits { poll: Duration::from_millis(20), ..Limits::default() },
            archive: None,
            name: "test".into(),
        });
        let engine = engine.await.unwrap();
        Self {
            outbox: Arc::new(Outbox {
                store: store.clone(),
                engine: engine.clone(),
                ids: ids.clone(),
                clock: clock.clone(),
                limits: setup.limits,
            }),
            feedback: FeedbackService {
                store: store.clone(),
                registry: registry.clone(),
                ids: ids.clone(),
                clock: clock.clone(),
                retention: Duration::from_hours(24 * 30),
            },
            desk: EndpointService {
                store: store.clone(),
                ring,
                registry,
                ids: ids.clone(),
                clock: clock.clone(),
                client,
                plans: Arc::new(Plans::built_in()),
                orphans: Arc::new(OrphanSweeper::new(store.clone(), clock.clone())),
            },
            scope: TenantScope::internal(tenant.id),
            store,
            clock,
            engine,
            suppressions,
            tenant,
            _folder: folder,
            database,
        }
    }

    pub async fn submit(&self, draft: EmailDraft) -> EmailId {
        self.outbox.submit(self.scope, &self.tenant, draft).await.unwrap().id
    }

    pub async fn email(&self, id: EmailId) -> EmailView {
        self.outbox.email(self.scope, id).await.unwrap().unwrap()
    }

    /// Lets time pass until it has come to that.
    pub async fn until(&self, id: EmailId, status: EmailStatus) -> EmailView {
        wait_for(status.name(), || async {
            let view = self.email(id).await;
            if view.row.status == status {
                return Some(view);
            }
            self.clock.advance(Duration::from_millis(50));
            None
        })
        .await
    }

    /// How many of these were sent.
    pub async fn sent(&self, ids: &[EmailId]) -> usize {
        let mut sent = 0;
        for id in ids {
            sent += usize::from(self.email(*id).await.row.status == EmailStatus::Sent);
        }
        sent
    }

    /// What was told of an e-mail, in order of its numbers.
    pub async fn told(&self, id: EmailId) -> Vec<(u64, String, Value)> {
        let page = PageRequest::first(1_000);
        let rows = self.store.events(self.scope, EventFilter::default(), page).await.unwrap().rows;
        let mut told = Vec::new();
        for row in rows.iter().filter(|row| row.subject.as_deref() == Some(&id.to_string())) {
            let event = self.store.event(self.scope, row.id).await.unwrap().unwrap();
            told.push((event.number.unwrap(), row.event_type.to_string(), data(&event)));
        }
        told.sort_by_key(|(number, _, _)| *number);
        told
    }

    pub async fn dead_letters(&self) -> Vec<DeadLetter> {
        let page = PageRequest::first(1_000);
        self.store.dead_letters(DeadFilter::default(), page).await.unwrap().rows
    }

    /// A receiver of all that is told of e-mails, as the contract has it.
    pub async fn receiver(&self) -> Receiver {
        let receiver = answering(|_| "200 OK").await;
        let draft = EndpointDraft {
            url: Some(format!("http://127.0.0.1:{}/hook", receiver.port())),
            events: Some(vec!["email.*".into()]),
            profile: Some("email-gateway".into()),
            ..EndpointDraft::default()
        };
        self.desk.create(self.scope, &self.tenant, draft).await.unwrap();
        receiver
    }
}

pub fn data(event: &EventView) -> Value {
    serde_json::from_slice(&event.parcel.body).unwrap()
}

fn webhooks(
    store: &Arc<dyn Store>,
    registry: &Arc<Registry>,
    ids: &Arc<IdMaker>,
    clock: &Arc<ManualClock>,
    client: &Client,
) -> LaneSetup {
    let notifier = Arc::new(Notifier {
        store: store.clone(),
        registry: registry.clone(),
        ids: ids.clone(),
        clock: clock.clone(),
        operator: None,
    });
    let health = Arc::new(HealthService::new(
        store.clone(),
        registry.clone(),
        clock.clone(),
        notifier.clone(),
        gancho_outbound::health::FAILING_FOR,
    ));
    let carrier = WebhookCarrier {
        registry: registry.clone(),
        client: client.clone(),
        clock: clock.clone(),
        health,
        notifier,
    };
    LaneSetup::new(Lane::Webhook, Arc::new(carrier))
}

/// Another for every stage: servers that tests share tell e-mails apart by their ids.
fn seed() -> u64 {
    static SEEDS: AtomicU64 = AtomicU64::new(1);
    SEEDS.fetch_add(1, Ordering::Relaxed)
}

/// Loopback is allowed.
pub fn client() -> Client {
    let policy = Policy { allow_http: true, ..Policy::for_dev() };
    Client::new(Settings { policy, ..Settings::default() }).unwrap()
}

pub fn draft(to: &str) -> EmailDraft {
    EmailDraft {
        from: Some("Loja <shop@example.com>".into()),
        to: Some(to.into()),
        subject: Some("A fatura".into()),
        text: Some("Olá.\n".into()),
        external_id: Some("BOL-M2-2025-00123".into()),
        ..EmailDraft::default()
    }
}
