//! The gateway, put together: store, engine, the flows and what watches them. `serve`, `dev`, `pipe`
//! and `bench` all start here, so that what one of them shows is what the others do.

mod alerting;
mod archiving;
mod email_off;
mod lanes;
mod mailing;
mod notices;
mod receiving;
mod relays;
mod reloadable;
mod setup;
pub mod shared_settings;
mod tenants;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use gancho_access::OperatorToken;
use gancho_alerts::AlertService;
use gancho_api::{
    Api, ApiSetup, Ingest, Simulator, cells::CellService, reload::ReloadService, state::MailParts,
    watch,
};
use gancho_domain::{
    Clock, CorrectedClock, EndReason, EndpointId, IdMaker, Lane, Random, SystemClock, SystemRandom,
    Tenant, TenantScope,
};
use gancho_engine::{
    Carrier, Engine, EngineSetup, LaneSetup, SpanSink, StopSummary, correct_clock,
};
use gancho_inbound::InternalSink;
use gancho_outbound::{
    EndpointDraft, EndpointService, EventTypes, HealthService, IntakeMover, Outbound,
    OutboundSetup, Plans, Publisher, Registry, Replays, notify::NoticeSink,
};
use gancho_store::{EndedDelivery, Store};
use gancho_store_cells::CellStore;
use gancho_traces::TraceExporter;
use gancho_vault::KeyRing;
use gancho_wire::Profile;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use alerting::AlertSettings;
pub use archiving::ArchiveSetup;
pub use lanes::Lanes;
pub use reloadable::{ReloadableParts, ReloadableSettings};
pub use setup::{Setup, database_url, has_role, other_url, role_names};
pub use tenants::Tenants;

use alerting::{AlertParts, Alerting, notices::NoticeMessenger};
use mailing::Mailing;
use notices::NoticeCarrier;
use receiving::{Receiving, ReceivingParts};

use crate::{
    cells::Cells,
    database::{self, OpenStore},
    key_ring::Ring,
    key_rotator::KeyRotator,
};

/// Loops that have been told to end are not waited for any longer than this.
const TASK_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The shared parts that every other part is built from.
#[derive(Clone)]
pub struct Base {
    store: Arc<dyn Store>,
    /// For lists and statistics.
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
    /// For the operator's own, which may be where no tenant's may.
    pub own_endpoints: EndpointService,
    pub ring: Ring,
    pub watch: Arc<watch::Watch>,
    pub key_rotator: Arc<KeyRotator>,
    pub tenants: Tenants,
    /// Whether dead letters leave the store.
    pub has_archive: bool,
    /// Nothing where no webhooks are received.
    pub receiving: Option<Receiving>,
    /// Nothing where the store can have none.
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
    /// Nothing where alerts are off.
    alerts: Option<Arc<AlertService>>,
    /// Nothing where the settings cannot be reloaded.
    pub reloader: Option<Arc<dyn ReloadService>>,
    /// Nothing where traces are off. Told to stop after the engine.
    traces: Option<(Arc<TraceExporter>, CancellationToken)>,
    /// Sends notices as messages. Told to stop after everything that has notices.
    messenger: (TaskTracker, CancellationToken),
    /// Whatever runs beside the engine; stopping ends it.
    tasks: TaskTracker,
    stopping: CancellationToken,
}

impl Gateway {
    #[expect(clippy::too_many_lines, reason = "one list of what the gateway is made of, in order")]
    pub async fn start(setup: Setup) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(CorrectedClock::new(SystemClock));
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let opened = database::open_all(&setup.database_url, setup.store, setup.ring).await?;
        let OpenStore { store, reader, ring, cells } = opened;
        correct_clock(&*clock, &*store).await?;
        let ids = Arc::new(IdMaker::new(clock.clone(), random.clone()));
        ids.rise_above(store.highest_lead().await?);
        let client =
            gancho_egress::Client::new(setup.client).context("cannot create the HTTP client")?;
        let own_client = gancho_egress::Client::new(setup.own_client)
            .context("cannot create the HTTP client")?;
        let tenants = Tenants { store: store.clone(), ids: ids.clone(), clock: clock.clone() };
        let operator = if setup.has_notices {
            Some(tenants.get_or_create(Tenant::OPERATOR, "standard").await?)
        } else {
            None
        };
        let messenger = Arc::new(NoticeMessenger::default());
        let outbound = Outbound::new(OutboundSetup {
            notice_sink: setup
                .alerts
                .as_ref()
                .map(|_| -> Arc<dyn NoticeSink> { messenger.clone() }),
            profiles: Profile::built_in().into_iter().chain(setup.profiles).collect(),
            plans: setup.plans,
            publish_rate: setup.publish_rate,
            operator: operator.as_ref().map(|tenant| TenantScope::internal(tenant.id)),
            failing_for: setup.failing_for,
            ..OutboundSetup::new(store.clone(), ring.keys.clone(), ids.clone(), clock.clone())
        });
        let base = Base {
            store,
            reader,
            ring: ring.keys.clone(),
            registry: outbound.registry.clone(),
            ids,
            clock,
        };
        let operator_tenant = operator.as_ref().map(|tenant| tenant.id);
        let carrier: Arc<dyn Carrier> = match operator {
            Some(operator) => Arc::new(NoticeCarrier {
                operator: operator.id,
                tenants: outbound.carrier(&client),
                notices: outbound.carrier(&own_client),
            }),
            None => Arc::new(outbound.carrier(&client)),
        };
        let webhooks =
            LaneSetup { terms: setup.lanes.webhooks, ..LaneSetup::new(Lane::Webhook, carrier) };
        let prepared = match setup.receiving {
            Some(receiving) => {
                let prepared = ReceivingParts::new(&base, own_client.clone(), receiving).await;
                Some(prepared.map_err(|error| ring.explain(error))?)
            }
            None => None,
        };
        let mail = setup
            .mail
            .map(|mail| Mailing::start(&base, &own_client, mail, &setup.lanes))
            .transpose()?;
        let (mailing, emails) = mail.unzip();
        let retention = setup.limits.retention;
        let internal_sink = mailing
            .as_ref()
            .map(|_| -> Arc<dyn InternalSink> { Arc::new(Mailing::feedback(&base, retention)) });
        let dispatch = prepared.as_ref().map(|prepared| {
            let lane = prepared.lane(&base, internal_sink);
            LaneSetup { terms: setup.lanes.dispatch, ..lane }
        });
        let has_archive = setup.archive.is_some();
        let archive = setup.archive.map(|it| it.open(base.store.clone(), base.clock.clone()));
        let lanes = [Some(webhooks), dispatch, emails].into_iter().flatten();
        let traces = setup.traces.map(|traces| TraceExporter::new(traces, own_client.clone()));
        let engine = Engine::start(EngineSetup {
            store: base.store.clone(),
            clock: base.clock.clone(),
            random,
            lanes: if setup.is_worker { lanes.collect() } else { Vec::new() },
            limits: setup.limits,
            archive: archive.transpose()?,
            name: setup.node_name.clone(),
            facts: setup.node_facts,
            spans: traces.clone().map(|traces| -> Arc<dyn SpanSink> { traces }),
            is_wall_clock: true,
        })
        .await?;
        let receiving = prepared.map(|prepared| prepared.open(&base, engine.clone()));
        let mail = mailing.as_ref().map(|mailing| mailing.desk(&base, engine.clone()));
        let alerting = setup.alerts.map(|settings| {
            let parts = AlertParts {
                base: &base,
                engine: engine.clone(),
                inbound: receiving.as_ref().map(Receiving::parts),
                client: &own_client,
                transport: mailing.as_ref().map(Mailing::transport),
                operator: operator_tenant,
                data_dir: setup.data_dir.clone(),
                node: format!("{}-{}", setup.node_name, engine.node().0),
            };
            alerting::start(settings, parts)
        });
        let (alerts, routes) = match alerting {
            Some(Alerting { service, routes }) => (service, Some(routes)),
            None => (None, None),
        };
        let Base { store, clock, .. } = base.clone();
        let watched = watch::WatchSetup {
            store: store.clone(),
            engine: engine.clone(),
            clock,
            inbound: receiving.as_ref().map(|receiving| receiving.inbound.clone()),
            data_dir: setup.data_dir,
        };
        let gateway = Self {
            watch: watch::Watch::new(watched),
            key_rotator: Arc::new(KeyRotator::new(store.clone(), ring.clone(), cells.clone())),
            publisher: Arc::new(outbound.publisher(engine.clone())),
            endpoints: Arc::new(outbound.endpoints(&client)),
            own_endpoints: outbound.endpoints(&own_client),
            replays: Arc::new(outbound.replays().at_rate(setup.replay_rate)),
            store,
            engine,
            ring,
            tenants,
            has_archive,
            receiving,
            cells,
            clients: [client, own_client],
            base,
            health: outbound.health,
            mailing,
            mail,
            event_types: outbound.event_types,
            plans: outbound.plans,
            alerts,
            reloader: None,
            traces: traces.map(|traces| (traces, CancellationToken::new())),
            messenger: (TaskTracker::new(), CancellationToken::new()),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        gateway.intake().describe(setup.max_event_bytes).await?;
        // A SQLite database has one node.
        let is_shared = !setup.database_url.starts_with("sqlite:");
        let email_expiry = setup.lanes.emails.expiry.unwrap_or(gancho_mail::limits::EXPIRY);
        gateway.start_loops(setup.is_worker, is_shared, email_expiry);
        if let Some(routes) = routes {
            let (tasks, stop) = &gateway.messenger;
            let stop = stop.clone();
            tasks.spawn(async move { messenger.run(routes, stop).await });
        }
        Ok(gateway)
    }

    fn start_loops(&self, is_worker: bool, is_shared: bool, email_expiry: Duration) {
        self.key_rotator.watch_file(&self.tasks, self.stopping.clone());
        if is_worker {
            let (health, stop) = (self.health.clone(), self.stopping.clone());
            self.tasks.spawn(async move { health.run_digests(stop).await });
            let (replays, stop) = (self.replays.clone(), self.stopping.clone());
            self.tasks.spawn(async move { replays.run(stop).await });
            let (intake, stop) = (self.intake(), self.stopping.clone());
            self.tasks.spawn(async move { intake.run(stop).await });
            if self.mailing.is_none() {
                let (store, engine) = (self.store.clone(), self.engine.clone());
                let (clock, stop) = (self.base.clock.clone(), self.stopping.clone());
                email_off::watch(store, engine, clock, email_expiry, &self.tasks, stop);
            }
        }
        if let Some((traces, stop)) = &self.traces {
            let (traces, stop) = (traces.clone(), stop.clone());
            self.tasks.spawn(async move { traces.run(stop).await });
        }
        if let Some(alerts) = &self.alerts {
            alerting::spawn(alerts, &self.tasks, &self.stopping);
        }
        if is_shared {
            relays::start(self);
        }
        let (orphans, stop) = (self.endpoints.orphans.clone(), self.stopping.clone());
        let engine = self.engine.clone();
        self.tasks.spawn(async move {
            let count = |ended: &[EndedDelivery]| {
                engine.count_ended(Lane::Webhook, &EndReason::ENDPOINT_DELETED, ended);
            };
            orphans.run(count, stop).await;
        });
        if let Some(receiving) = &self.receiving {
            receiving.start_loops(&self.tasks, &self.stopping);
        }
    }

    fn intake(&self) -> IntakeMover {
        IntakeMover {
            store: self.store.clone(),
            publisher: self.publisher.clone(),
            clock: self.base.clock.clone(),
        }
    }

    /// E-mails that wait and that this gateway does not send.
    pub async fn unsent_emails(&self) -> gancho_store::Result<u64> {
        if self.mailing.is_some() { Ok(0) } else { email_off::count(&*self.store).await }
    }

    /// The service of the ingest listener.
    pub fn ingest(&self, simulator: Simulator) -> Option<Ingest> {
        self.receiving.as_ref().map(|receiving| receiving.ingest(&self.base, simulator))
    }

    /// What the API is made of.
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

    /// A new endpoint that wants everything.
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

    /// Stops softly: lets what is in flight finish within the time, gives the rest back to the store.
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
        // What ended while the engine was stopping.
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
