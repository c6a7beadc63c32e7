//! Starts the gateway: the base of its lanes, the engine with its lanes, the users of the engine, and the
//! loops.

use std::{path::PathBuf, sync::Arc, time::Duration};

use gancho_api::watch;
use gancho_domain::{EndReason, Lane, SystemRandom};
use gancho_engine::{Engine, EngineSetup, SpanSink};
use gancho_store::EndedDelivery;
use gancho_traces::TraceExporter;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Base, Gateway, Setup,
    alerting::{self, AlertParts, Alerting, notices::NoticeMessenger},
    email_off,
    foundation::Foundation,
    lane_parts::LaneParts,
    mailing::Mailing,
    receiving::Receiving,
    relays,
};
use crate::key_rotator::KeyRotator;

impl Gateway {
    pub async fn start(mut setup: Setup) -> anyhow::Result<Self> {
        let messenger = Arc::new(NoticeMessenger::default());
        let foundation = Foundation::open(&setup, &messenger).await?;
        let LaneParts { receiving, mailing, lanes } =
            LaneParts::new(&foundation, &mut setup).await?;
        let Foundation { base, ring, cells, clients, tenants, operator, outbound } = foundation;
        let [client, own_client] = &clients;
        let has_archive = setup.archive.is_some();
        let archive = setup.archive.map(|it| it.open(base.store.clone(), base.clock.clone()));
        let traces = setup.traces.map(|traces| TraceExporter::new(traces, own_client.clone()));
        let engine = Engine::start(EngineSetup {
            store: base.store.clone(),
            clock: base.clock.clone(),
            random: Arc::new(SystemRandom),
            lanes: if setup.is_worker { lanes } else { Vec::new() },
            limits: setup.limits,
            archive: archive.transpose()?,
            name: setup.node_name.clone(),
            facts: setup.node_facts,
            spans: traces.clone().map(|traces| -> Arc<dyn SpanSink> { traces }),
            is_wall_clock: true,
        })
        .await?;
        let receiving = receiving.map(|parts| parts.open(&base, engine.clone()));
        let mail = mailing.as_ref().map(|mailing| mailing.parts(&base, engine.clone()));
        let alerting = setup.alerts.map(|settings| {
            let parts = AlertParts {
                base: &base,
                engine: engine.clone(),
                inbound: receiving.as_ref().map(Receiving::parts),
                client: own_client,
                transport: mailing.as_ref().map(Mailing::transport),
                operator,
                data_dir: setup.data_dir.clone(),
                node: format!("{}-{}", setup.node_name, engine.node().0),
            };
            alerting::start(settings, parts)
        });
        let (alerts, routes) = match alerting {
            Some(Alerting { service, routes }) => (service, Some(routes)),
            None => (None, None),
        };
        let key_rotator = KeyRotator::new(base.store.clone(), ring.clone(), cells.clone());
        let gateway = Self {
            watch: watch(&base, &engine, receiving.as_ref(), setup.data_dir),
            key_rotator: Arc::new(key_rotator),
            publisher: Arc::new(outbound.publisher(engine.clone())),
            endpoints: Arc::new(outbound.endpoints(client)),
            own_endpoints: outbound.endpoints(own_client),
            replays: Arc::new(outbound.replays().at_rate(setup.replay_rate)),
            store: base.store.clone(),
            engine,
            ring,
            tenants,
            has_archive,
            receiving,
            cells,
            clients,
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

fn watch(
    base: &Base,
    engine: &Arc<Engine>,
    receiving: Option<&Receiving>,
    data_dir: Option<PathBuf>,
) -> Arc<watch::Watch> {
    watch::Watch::new(watch::WatchSetup {
        store: base.store.clone(),
        engine: engine.clone(),
        clock: base.clock.clone(),
        inbound: receiving.map(|receiving| receiving.inbound.clone()),
        data_dir,
    })
}
