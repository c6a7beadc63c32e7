//! What the tests share: a gateway without its API, receivers, and ways to wait for results.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Clock, DeliveryId, Endpoint, EndpointId, IdMaker, Lane, ManualClock, Rate, RetryDraft,
    SeededRandom, Tenant, TenantScope,
};
use gancho_egress::{Client, Policy, Settings};
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits};
use gancho_outbound::{
    AcceptedEvent, EndpointDraft, EndpointService, NewEndpoint, NewEvent, Outbound, OutboundSetup,
    Plans, Publisher,
};
use gancho_store::{DeliveryFilter, DeliveryRow, DeliveryView, PageRequest, Store};
use gancho_testkit::{
    http_request::answering,
    receiver::Receiver,
    stores::{StoreKind, StorePlace},
    wait_for,
};
use gancho_vault::KeyRing;

/// 2026-11-15T06:37:00Z
pub const START: i64 = 1_794_724_620;
pub const DAY: Duration = Duration::from_hours(24);

pub struct Setup {
    pub plans: Plans,
    pub rate: Option<Rate>,
    /// Whether the operator gets notices too.
    pub with_operator: bool,
    /// When a waiting delivery is given up.
    pub expiry: Option<Duration>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { plans: Plans::built_in(), rate: None, with_operator: false, expiry: None }
    }
}

pub struct Stage {
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    pub ids: Arc<IdMaker>,
    pub ring: Arc<KeyRing>,
    pub outbound: Outbound,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    pub desk: EndpointService,
    pub tenant: Tenant,
    pub scope: TenantScope,
    pub operator: TenantScope,
    _place: StorePlace,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let place = StorePlace::new(StoreKind::Sqlite).await;
        let store = place.open().await;
        let clock = Arc::new(ManualClock::at_secs(START));
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1))));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let [tenant, operator] =
            ["acme", "operator"].map(|slug| Tenant::new(ids.make(), slug, clock.now()));
        for tenant in [&tenant, &operator] {
            store.create_tenant(tenant.clone()).await.unwrap();
        }
        let [scope, operator] = [tenant.id, operator.id].map(TenantScope::internal);
        let outbound = Outbound::new(OutboundSetup {
            plans: setup.plans,
            publish_rate: setup.rate,
            operator: setup.with_operator.then_some(operator),
            ..OutboundSetup::new(store.clone(), ring.clone(), ids.clone(), clock.clone())
        });
        let client = Client::new(settings()).unwrap();
        let mut lane = LaneSetup::new(Lane::Webhook, Arc::new(outbound.carrier(&client)));
        lane.terms.expiry = setup.expiry;
        let random = Arc::new(SeededRandom::new(2));
        let engine = Engine::start(EngineSetup {
            limits: Limits { poll: Duration::from_millis(20), ..Limits::default() },
            ..EngineSetup::new(store.clone(), clock.clone(), random, vec![lane])
        });
        let engine = engine.await.unwrap();
        Self {
            publisher: Arc::new(outbound.publisher(engine.clone())),
            engine,
            desk: outbound.endpoints(&client),
            store,
            clock,
            ids,
            ring,
            outbound,
            tenant,
            scope,
            operator,
            _place: place,
        }
    }

    /// Returns what another node of the same store would have.
    pub fn other_node(&self) -> Outbound {
        let (store, ring) = (self.store.clone(), self.ring.clone());
        Outbound::new(OutboundSetup::new(store, ring, self.ids.clone(), self.clock.clone()))
    }

    pub async fn create(&self, draft: EndpointDraft) -> NewEndpoint {
        self.desk.create(self.scope, &self.tenant, draft).await.unwrap()
    }

    /// Creates an endpoint at a receiver for these event types, with two quick retries.
    pub async fn endpoint(&self, receiver: &Receiver, events: &[&str]) -> EndpointId {
        self.create(draft(receiver, events)).await.endpoint.id
    }

    pub async fn read(&self, id: EndpointId) -> Endpoint {
        self.store.endpoint(self.scope, id).await.unwrap().unwrap()
    }

    pub async fn publish(&self, event: NewEvent) -> AcceptedEvent {
        self.publisher.publish(self.scope, &self.tenant, event).await.unwrap()
    }

    pub async fn deliveries(&self, filter: DeliveryFilter) -> Vec<DeliveryRow> {
        self.deliveries_of(self.scope, filter).await
    }

    pub async fn deliveries_of(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
    ) -> Vec<DeliveryRow> {
        self.store.deliveries(scope, filter, PageRequest::first(1_000)).await.unwrap().rows
    }

    pub async fn view(&self, id: DeliveryId) -> DeliveryView {
        self.store.delivery(self.scope, id).await.unwrap().unwrap()
    }

    /// Waits for the one delivery of a type to this tenant's endpoints.
    pub async fn of_type(&self, scope: TenantScope, event_type: &str) -> DeliveryRow {
        let filter =
            DeliveryFilter { event_type: Some(event_type.into()), ..DeliveryFilter::default() };
        wait_for(event_type, || async {
            self.deliveries_of(scope, filter.clone()).await.into_iter().next()
        })
        .await
    }

    /// Publishes an event and advances the clock until its delivery has ended.
    pub async fn publish_and_end(&self, event: NewEvent) -> DeliveryView {
        let id = self.publish(event).await.id;
        let event = self.store.event(self.scope, id).await.unwrap().unwrap();
        self.until_ended(event.deliveries[0].id).await
    }

    pub async fn until_ended(&self, id: DeliveryId) -> DeliveryView {
        wait_for("the end of a delivery", || async {
            let view = self.view(id).await;
            if view.row.state.is_final() {
                return Some(view);
            }
            self.clock.advance(Duration::from_millis(500));
            None
        })
        .await
    }
}

/// Settings that allow loopback, with short waits.
fn settings() -> Settings {
    Settings {
        policy: Policy { allow_http: true, ..Policy::for_dev() },
        connect_timeout: Duration::from_millis(500),
        ..Settings::default()
    }
}

pub fn draft(receiver: &Receiver, events: &[&str]) -> EndpointDraft {
    let delays = ["1s", "1s"].map(str::to_owned).to_vec();
    EndpointDraft {
        url: Some(format!("http://127.0.0.1:{}/hook", receiver.port())),
        events: Some(events.iter().map(|&event| event.to_owned()).collect()),
        retry: Some(Some(RetryDraft::Schedule(delays))),
        ..EndpointDraft::default()
    }
}

pub fn event(event_type: &str, data: &'static str) -> NewEvent {
    NewEvent {
        event_type: event_type.parse().unwrap(),
        data: Bytes::from_static(data.as_bytes()),
        subject: None,
        external_id: None,
        idempotency_key: None,
        deliver_at: None,
        is_test: false,
        trace: None,
        intake_id: None,
    }
}

pub async fn ok() -> Receiver {
    answering(|_| "200 OK").await
}

pub async fn failing() -> Receiver {
    answering(|_| "503 Service Unavailable").await
}

pub fn pointers(errors: &[gancho_domain::FieldError]) -> Vec<(&'static str, &str)> {
    errors.iter().map(|error| (error.code, error.pointer.as_str())).collect()
}
