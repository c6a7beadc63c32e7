//! Assembles the crate: what its services share, and the services made from it.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, IdMaker, Rate, TenantScope};
use gancho_egress::Client;
use gancho_engine::Engine;
use gancho_store::Store;
use gancho_vault::KeyRing;
use gancho_wire::Profile;

use crate::{
    EndpointService, EventTypes, HealthService, Notifier, OrphanSweeper, Plans, PublishRates,
    Publisher, Registry, Replays, WebhookCarrier, endpoints::size::EndpointGrowth, health,
    notify::NoticeSink,
};

pub struct OutboundSetup {
    pub store: Arc<dyn Store>,
    pub ring: Arc<KeyRing>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub profiles: Vec<Profile>,
    pub plans: Plans,
    /// How fast each tenant may publish.
    pub publish_rate: Option<Rate>,
    /// The tenant of the operator's own endpoints, if there are any.
    pub operator: Option<TenantScope>,
    /// An endpoint that fails for this long is disabled.
    pub failing_for: Duration,
    /// Receives every notice, in addition to endpoints.
    pub notice_sink: Option<Arc<dyn NoticeSink>>,
}

impl OutboundSetup {
    /// Creates a setup with the built-in profiles and plans, and without an operator's endpoints.
    pub fn new(
        store: Arc<dyn Store>,
        ring: Arc<KeyRing>,
        ids: Arc<IdMaker>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            ring,
            ids,
            clock,
            profiles: Profile::built_in().into(),
            plans: Plans::built_in(),
            publish_rate: None,
            operator: None,
            failing_for: health::FAILING_FOR,
            notice_sink: None,
        }
    }
}

/// What the services of this crate share.
pub struct Outbound {
    pub registry: Arc<Registry>,
    pub health: Arc<HealthService>,
    pub event_types: Arc<EventTypes>,
    pub plans: Arc<Plans>,
    pub orphans: Arc<OrphanSweeper>,
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    ids: Arc<IdMaker>,
    clock: Arc<dyn Clock>,
    notifier: Arc<Notifier>,
    rates: Arc<PublishRates>,
}

impl Outbound {
    pub fn new(setup: OutboundSetup) -> Self {
        let OutboundSetup { store, ring, ids, clock, .. } = setup;
        let registry = Arc::new(Registry::new(store.clone(), ring.clone(), setup.profiles));
        let notifier = Arc::new(Notifier {
            store: store.clone(),
            registry: registry.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            operator: setup.operator,
            sink: setup.notice_sink,
        });
        let health = HealthService::new(
            store.clone(),
            registry.clone(),
            clock.clone(),
            notifier.clone(),
            setup.failing_for,
        );
        Self {
            registry,
            health: Arc::new(health),
            event_types: Arc::new(EventTypes::new(store.clone())),
            plans: Arc::new(setup.plans),
            orphans: Arc::new(OrphanSweeper::new(store.clone(), clock.clone())),
            store,
            ring,
            ids,
            clock,
            notifier,
            rates: Arc::new(PublishRates::new(setup.publish_rate)),
        }
    }

    /// Creates the carrier, which delivers to the addresses that the client's policy allows.
    pub fn carrier(&self, client: &Client) -> WebhookCarrier {
        WebhookCarrier {
            registry: self.registry.clone(),
            client: client.clone(),
            clock: self.clock.clone(),
            health: self.health.clone(),
            notifier: self.notifier.clone(),
        }
    }

    /// Creates the publisher. The engine also decides when the clock may be used to judge the health of
    /// endpoints.
    pub fn publisher(&self, engine: Arc<Engine>) -> Publisher {
        self.health.judge_clock_by(&engine);
        Publisher {
            store: self.store.clone(),
            engine,
            registry: self.registry.clone(),
            ids: self.ids.clone(),
            clock: self.clock.clone(),
            types: self.event_types.clone(),
            plans: self.plans.clone(),
            rates: self.rates.clone(),
        }
    }

    /// Creates the service. The client's policy decides which URLs are allowed.
    pub fn endpoints(&self, client: &Client) -> EndpointService {
        EndpointService {
            store: self.store.clone(),
            ring: self.ring.clone(),
            registry: self.registry.clone(),
            ids: self.ids.clone(),
            clock: self.clock.clone(),
            client: client.clone(),
            plans: self.plans.clone(),
            orphans: self.orphans.clone(),
            growth: EndpointGrowth::default(),
        }
    }

    pub fn replays(&self) -> Replays {
        let (registry, ids) = (self.registry.clone(), self.ids.clone());
        Replays::new(self.store.clone(), registry, ids, self.clock.clone())
    }
}
