//! Starts the gateway: what its lanes are built on, the engine with its lanes, what uses the engine, and the loops.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use gancho_api::watch;
use gancho_domain::{
    Clock, EndReason, IdMaker, Lane, Random, SystemClock, SystemRandom, Tenant, TenantScope,
};
use gancho_engine::{Carrier, Engine, EngineSetup, LaneSetup, SpanSink};
use gancho_inbound::InternalSink;
use gancho_outbound::{Outbound, OutboundSetup, notify::NoticeSink};
use gancho_store::EndedDelivery;
use gancho_traces::TraceExporter;
use gancho_wire::Profile;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Base, Gateway, Setup, Tenants,
    alerting::{self, AlertParts, Alerting, notices::NoticeMessenger},
    email_off,
    mailing::Mailing,
    notices::NoticeCarrier,
    receiving::{Receiving, ReceivingParts},
    relays,
};
use crate::{
    database::{self, OpenStore},
    key_rotator::KeyRotator,
};

impl Gateway {
    #[expect(clippy::too_many_lines, reason = "one list of what the gateway is made of, in order")]
    pub async fn start(setup: Setup) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let opened = database::open_all(&setup.database_url, setup.store, setup.ring).await?;
        let OpenStore { store, reader, ring, cells } = opened;
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
}
