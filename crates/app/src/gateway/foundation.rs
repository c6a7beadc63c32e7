//! The base of the engine's lanes: the store and its keys, the HTTP clients, and the endpoints.

use std::sync::Arc;

use anyhow::Context;
use gancho_domain::{
    Clock, CorrectedClock, IdMaker, SystemClock, SystemRandom, Tenant, TenantId, TenantScope,
};
use gancho_egress::Client;
use gancho_engine::correct_clock;
use gancho_outbound::{Outbound, OutboundSetup, notify::NoticeSink};
use gancho_store_cells::CellStore;
use gancho_wire::Profile;

use super::{Base, Setup, Tenants, alerting::notices::NoticeMessenger};
use crate::{
    database::{self, OpenStore},
    key_ring::LoadedKeyRing,
};

pub struct Foundation {
    pub base: Base,
    pub ring: LoadedKeyRing,
    /// `None` if the store cannot have any.
    pub cells: Option<Arc<CellStore>>,
    /// The clients for tenants' endpoints, and for the operator's own targets.
    pub clients: [Client; 2],
    pub tenants: Tenants,
    /// The tenant of the operator's own endpoints.
    pub operator: Option<TenantId>,
    pub outbound: Outbound,
}

impl Foundation {
    /// Opens the store and creates the rest. `messenger` gets the notices if messages are sent.
    pub async fn open(setup: &Setup, messenger: &Arc<NoticeMessenger>) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(CorrectedClock::new(SystemClock));
        let opened = database::open_all(&setup.database_url, setup.store, setup.ring.clone());
        let OpenStore { store, reader, ring, cells } = opened.await?;
        correct_clock(&*clock, &*store).await?;
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SystemRandom)));
        ids.rise_above(store.highest_lead().await?);
        let clients = [http_client(&setup.client)?, http_client(&setup.own_client)?];
        let tenants = Tenants { store: store.clone(), ids: ids.clone(), clock: clock.clone() };
        let operator = if setup.has_notices {
            Some(tenants.get_or_create(Tenant::OPERATOR, "standard").await?.id)
        } else {
            None
        };
        let has_messages = setup.alerts.is_some();
        let outbound = Outbound::new(OutboundSetup {
            notice_sink: has_messages.then(|| -> Arc<dyn NoticeSink> { messenger.clone() }),
            profiles: Profile::built_in().into_iter().chain(setup.profiles.clone()).collect(),
            plans: setup.plans.clone(),
            publish_rate: setup.publish_rate,
            operator: operator.map(TenantScope::internal),
            failing_for: setup.failing_for,
            ..OutboundSetup::new(store.clone(), ring.keys.clone(), ids.clone(), clock.clone())
        });
        let (keys, registry) = (ring.keys.clone(), outbound.registry.clone());
        let base = Base { store, reader, ring: keys, registry, ids, clock };
        Ok(Self { base, ring, cells, clients, tenants, operator, outbound })
    }
}

fn http_client(settings: &gancho_egress::Settings) -> anyhow::Result<Client> {
    Client::new(settings.clone()).context("cannot create the HTTP client")
}
