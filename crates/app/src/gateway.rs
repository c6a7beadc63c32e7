//! Assembles the gateway: the store, the engine, the flows and their monitoring. `serve`, `dev`, `pipe` and
//! `bench` all start here, so that they behave the same.

mod alerting;
mod archiving;
mod email_off;
mod foundation;
mod lane_parts;
mod lanes;
mod mailing;
mod notices;
mod receiving;
mod relays;
mod reloadable;
mod setup;
pub mod shared_settings;
mod start;
mod tenants;

use std::{sync::Arc, time::Duration};

use gancho_access::OperatorToken;
use gancho_alerts::AlertService;
use gancho_api::{
    Api, ApiSetup, Ingest, Simulator, cells::CellService, reload::ReloadService, state::MailParts,
    watch,
};
use gancho_domain::{Clock, EndpointId, IdMaker, Tenant, TenantScope};
use gancho_engine::{Engine, StopSummary};
use gancho_outbound::{
    EndpointDraft, EndpointService, EventTypes, HealthService, IntakeMover, Plans, Publisher,
    Registry, Replays,
};
use gancho_store::Store;
use gancho_store_cells::CellStore;
use gancho_traces::TraceExporter;
use gancho_vault::KeyRing;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use alerting::AlertSettings;
pub use archiving::ArchiveSetup;
pub use lanes::Lanes;
pub use reloadable::{ReloadableParts, ReloadableSettings};
pub use setup::{Setup, database_url, has_role, other_url, role_names};
pub use tenants::Tenants;

use mailing::Mailing;
use receiving::Receiving;

use crate::{cells::Cells, key_ring::LoadedKeyRing, key_rotator::KeyRotator};

/// Maximum wait for loops that were asked to end.
const TASK_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The shared parts that every other part is built from.
#[derive(Clone)]
pub struct Base {
    store: Arc<dyn Store>,
    /// The store for lists and statistics.
    reader: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    registry: Arc<Registry>,
    ids: Arc<IdMaker>,
    clock: Arc<dyn Clock>,
}

pub struct Gateway {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    pub endpoints: Arc<EndpointService>,
    /// Endpoints of the operator, whose addresses are less restricted than those of tenants.
    pub own_endpoints: EndpointService,
    pub ring: LoadedKeyRing,
    pub watch: Arc<watch::Watch>,
    pub key_rotator: Arc<KeyRotator>,
    pub tenants: Tenants,
    /// Whether dead letters leave the store.
    pub has_archive: bool,
    /// `None` if no webhooks are received.
    pub receiving: Option<Receiving>,
    /// `None` if the store cannot have any.
    cells: Option<Arc<CellStore>>,
    /// The two HTTP clients, whose address policies can be reloaded.
    clients: [gancho_egress::Client; 2],
    base: Base,
    health: Arc<HealthService>,
    mailing: Option<Mailing>,
    mail: Option<MailParts>,
    event_types: Arc<EventTypes>,
    plans: Arc<Plans>,
    replays: Arc<Replays>,
    /// `None` if alerts are off.
    alerts: Option<Arc<AlertService>>,
    /// `None` if the settings cannot be reloaded.
    pub reloader: Option<Arc<dyn ReloadService>>,
    /// `None` if traces are off. Stopped after the engine.
    traces: Option<(Arc<TraceExporter>, CancellationToken)>,
    /// Sends notices as messages. Stopped after everything that has notices.
    messenger: (TaskTracker, CancellationToken),
    /// The tasks beside the engine; stopping ends them.
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Gateway {
    fn intake(&self) -> IntakeMover {
        IntakeMover {
            store: self.store.clone(),
            publisher: self.publisher.clone(),
            clock: self.base.clock.clone(),
        }
    }

    /// Returns how many e-mails wait that this gateway does not send.
    pub async fn unsent_emails(&self) -> gancho_store::Result<u64> {
        if self.mailing.is_some() { Ok(0) } else { email_off::count(&*self.store).await }
    }

    /// Returns the service of the ingest listener.
    pub fn ingest(&self, simulator: Simulator) -> Option<Ingest> {
        self.receiving.as_ref().map(|receiving| receiving.ingest(&self.base, simulator))
    }

    /// Creates the API.
    pub fn api(&self, admin: OperatorToken, settings: gancho_api::Settings) -> Api {
        let setup = ApiSetup {
            store: self.store.clone(),
            reader: self.base.reader.clone(),
            engine: self.engine.clone(),
            publisher: self.publisher.clone(),
            endpoints: self.endpoints.clone(),
            event_types: self.event_types.clone(),
            plans: self.plans.clone(),
            replays: self.replays.clone(),
            registry: self.base.registry.clone(),
            ids: self.base.ids.clone(),
            clock: self.base.clock.clone(),
            watch: self.watch.clone(),
            key_ring: Some(self.key_rotator.clone()),
            cells: self
                .cells
                .clone()
                .map(|cells| -> Arc<dyn CellService> { Arc::new(Cells(cells)) }),
            inbound: self.receiving.as_ref().map(Receiving::parts),
            mail: self.mail.clone(),
            alerts: self.alerts.clone(),
            reloader: self.reloader.clone(),
            settings,
        };
        Api::new(setup, admin, self.ring.keys.clone())
    }

    /// Creates an endpoint that subscribes to everything.
    pub async fn add_endpoint(
        &self,
        tenant: &Tenant,
        url: &str,
        secret: &str,
    ) -> anyhow::Result<EndpointId> {
        let draft = EndpointDraft {
            url: Some(url.to_owned()),
            events: Some(vec!["*".to_owned()]),
            secret: Some(secret.to_owned()),
            ..EndpointDraft::default()
        };
        let scope = TenantScope::internal(tenant.id);
        Ok(self.endpoints.create(scope, tenant, draft).await?.endpoint.id)
    }

    /// Stops softly: lets deliveries in flight finish within the time, and returns the others to the store.
    pub async fn drain(&self, within: Duration) -> StopSummary {
        self.watch.stopping();
        self.stopping.cancel();
        self.tasks.close();
        let stopped = self.engine.stop(within).await;
        // Only now are there no more spans.
        if let Some((_, stop)) = &self.traces {
            stop.cancel();
        }
        let _ = tokio::time::timeout(TASK_STOP_TIMEOUT, self.tasks.wait()).await;
        // For deliveries that ended while the engine was stopping.
        let _ = tokio::time::timeout(TASK_STOP_TIMEOUT, self.health.send_digests(true)).await;
        // Only now are there no more notices.
        let (tasks, stop) = &self.messenger;
        stop.cancel();
        tasks.close();
        let _ = tokio::time::timeout(TASK_STOP_TIMEOUT, tasks.wait()).await;
        if let Some(mailing) = &self.mailing {
            let _ = tokio::time::timeout(TASK_STOP_TIMEOUT, mailing.close()).await;
        }
        stopped
    }
}
