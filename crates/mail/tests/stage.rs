//! What the tests share: a gateway without its API, and ways to wait for results.

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
use gancho_engine::{Engine, EngineSetup, LaneSetup, LaneTerms, Limits};
use gancho_mail::{
    EmailDraft, EmailStatus, EmailView, FeedbackService, MailCarrier, MailLimits, Outbox,
    Suppressions, TenantLimits, Transport, limits,
};
use gancho_outbound::{EndpointDraft, EndpointService, Outbound, OutboundSetup};
use gancho_store::{DeadFilter, DeadLetter, EventFilter, EventView, PageRequest, Store};
pub use gancho_testkit::stores::StoreKind;
use gancho_testkit::{http_request::answering, receiver::Receiver, stores::StorePlace, wait_for};
use gancho_vault::KeyRing;
use serde_json::Value;

/// 2026-11-15T06:37:00Z
pub const START: i64 = 1_794_724_620;

pub struct Setup {
    pub limits: MailLimits,
    pub tenants: TenantLimits,
    /// Changes the e-mail lane.
    pub lane: fn(LaneSetup) -> LaneSetup,
    /// Whether e-mails are sent at all.
    pub is_at_work: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: MailLimits::default(),
            tenants: TenantLimits::default(),
            lane: |lane| LaneSetup { terms: LaneTerms { rate: None, ..lane.terms }, ..lane },
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
    /// Dropped after everything that uses it.
    pub place: StorePlace,
}

impl Stage {
    pub async fn new(on: StoreKind, transport: impl Transport) -> Self {
        Self::with(on, Arc::new(transport), Setup::default()).await
    }

    pub async fn with(on: StoreKind, transport: Arc<dyn Transport>, setup: Setup) -> Self {
        let place = StorePlace::new(on).await;
        let store = place.open().await;
        let clock = Arc::new(ManualClock::at_secs(START));
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(seed()))));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let outbound =
            Outbound::new(OutboundSetup::new(store.clone(), ring, ids.clone(), clock.clone()));
        let registry = outbound.registry.clone();
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
            limits: setup.tenants.into(),
            message_id_domain: None,
        };
        let mut lanes = vec![LaneSetup::new(Lane::Webhook, Arc::new(outbound.carrier(&client)))];
        if setup.is_at_work {
            lanes.push((setup.lane)(limits::lane(mail)));
        }
        let random = Arc::new(SeededRandom::new(2));
        let engine = Engine::start(EngineSetup {
            limits: Limits { poll: Duration::from_millis(20), ..Limits::default() },
            ..EngineSetup::new(store.clone(), clock.clone(), random, lanes)
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
                registry,
                ids,
                clock: clock.clone(),
                retention: Duration::from_hours(24 * 30),
            },
            desk: outbound.endpoints(&client),
            scope: TenantScope::internal(tenant.id),
            store,
            clock,
            engine,
            suppressions,
            tenant,
            place,
        }
    }

    pub async fn submit(&self, draft: EmailDraft) -> EmailId {
        self.outbox.submit(self.scope, &self.tenant, draft).await.unwrap().id
    }

    pub async fn email(&self, id: EmailId) -> EmailView {
        self.outbox.email(self.scope, id).await.unwrap().unwrap()
    }

    /// Advances the clock until the e-mail has this status.
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

    /// Returns how many of these were sent.
    pub async fn sent(&self, ids: &[EmailId]) -> usize {
        let mut sent = 0;
        for id in ids {
            sent += usize::from(self.email(*id).await.row.status == EmailStatus::Sent);
        }
        sent
    }

    /// Returns the events about an e-mail, in the order of their numbers.
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

    /// Creates a receiver of all events about e-mails, in the format of the API.
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

/// Returns another seed for every stage, because tests that share a server tell their e-mails apart by id.
fn seed() -> u64 {
    static SEEDS: AtomicU64 = AtomicU64::new(1);
    SEEDS.fetch_add(1, Ordering::Relaxed)
}

/// Creates a client that allows loopback.
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
