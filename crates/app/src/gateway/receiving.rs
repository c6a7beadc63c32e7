//! Receives webhooks from partners: the part of the gateway that verifies, stores and dispatches them. An
//! address that an operator configures (the core's) may be on this machine, unlike those of customers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use gancho_api::{InboundParts, Ingest, IngestSettings, Simulator};
use gancho_domain::Lane;
use gancho_egress::Client;
use gancho_engine::{Engine, LaneSetup};
use gancho_inbound::{
    Checkpointer, DispatchCarrier, Inbound, InboundSetup, InternalSink, Limits, PolicyService,
    SigningKeys, SnsHosts, SourceDefaults, SourceService, Sources,
    checkpoints::{CheckpointSettings, ORIGIN},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Base;

pub struct ReceivingSetup {
    /// The defaults of sources.
    pub defaults: SourceDefaults,
    /// The file of the policy pack. `None`: the built-in one.
    pub policy_file: Option<PathBuf>,
    /// The hosts that are trusted as SNS.
    pub sns_hosts: SnsHosts,
    /// The directory of the ledger's checkpoints outside the store.
    pub checkpoints: PathBuf,
    /// How often the whole ledger is verified.
    pub ledger_check_interval: Duration,
    /// Whether this node signs them.
    pub is_ingest: bool,
}

/// How often keys that other nodes have created are loaded.
const READ_KEYS: Duration = Duration::from_secs(30);

/// The parts that are created before the engine, because the lane's carrier needs them.
pub struct ReceivingParts {
    sources: Arc<Sources>,
    keys: Arc<SigningKeys>,
    policy: Arc<PolicyService>,
    checkpointer: Arc<Checkpointer>,
    client: Client,
    sns_hosts: SnsHosts,
    is_ingest: bool,
}

pub struct Receiving {
    pub sources: Arc<SourceService>,
    pub inbound: Arc<Inbound>,
    pub checkpointer: Arc<Checkpointer>,
    is_ingest: bool,
}

impl ReceivingParts {
    /// Creates the parts. `client` may reach what the operator configures.
    pub async fn new(base: &Base, client: Client, setup: ReceivingSetup) -> anyhow::Result<Self> {
        let Base { store, ring, clock, .. } = base;
        let keys = SigningKeys::open(store.clone(), ring.clone(), clock.clone()).await?;
        let keys = Arc::new(keys);
        let sources = Sources::new(store.clone(), ring.clone()).with_defaults(setup.defaults);
        let checkpoints = CheckpointSettings {
            check_every: setup.ledger_check_interval,
            ..CheckpointSettings::new(ORIGIN, setup.checkpoints)
        };
        let checkpointer =
            Checkpointer::open(store.clone(), keys.clone(), clock.clone(), checkpoints);
        Ok(Self {
            sources: Arc::new(sources),
            keys,
            policy: Arc::new(PolicyService::open(setup.policy_file).context("policy_file")?),
            checkpointer: Arc::new(checkpointer),
            client,
            sns_hosts: setup.sns_hosts,
            is_ingest: setup.is_ingest,
        })
    }

    /// Returns the lane. `internal_sink` gets receipts for another part of the gateway.
    pub fn lane(&self, base: &Base, internal_sink: Option<Arc<dyn InternalSink>>) -> LaneSetup {
        let (sources, client) = (self.sources.clone(), self.client.clone());
        let mut carrier = DispatchCarrier::new(sources, client, base.clock.clone());
        if let Some(internal_sink) = internal_sink {
            carrier = carrier.with_internal_sink(internal_sink);
        }
        LaneSetup::new(Lane::Dispatch, Arc::new(carrier))
    }

    pub fn open(self, base: &Base, engine: Arc<Engine>) -> Receiving {
        tracing::info!(hash = self.policy.pack().hash(), "policy pack loaded");
        let Base { store, ring, ids, clock, .. } = base.clone();
        let sources = SourceService {
            store: store.clone(),
            ring,
            sources: self.sources.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            client: self.client.clone(),
        };
        let inbound = Inbound::new(InboundSetup {
            store,
            engine,
            sources: self.sources,
            keys: self.keys,
            policy: self.policy,
            ids,
            clock,
            limits: Limits::default(),
        });
        let inbound = inbound.with_sns(self.client, self.sns_hosts);
        Receiving {
            sources: Arc::new(sources),
            inbound: Arc::new(inbound),
            checkpointer: self.checkpointer,
            is_ingest: self.is_ingest,
        }
    }
}

impl Receiving {
    /// Returns the parts for the operator's calls.
    pub fn parts(&self) -> InboundParts {
        InboundParts {
            sources: self.sources.clone(),
            inbound: self.inbound.clone(),
            checkpointer: self.checkpointer.clone(),
        }
    }

    /// Creates the service of the listener for partners.
    pub fn ingest(&self, base: &Base, simulator: Simulator) -> Ingest {
        let inbound = self.inbound.clone();
        let settings = IngestSettings { simulator, ..IngestSettings::default() };
        Ingest::new(inbound, base.ring.clone(), base.ids.clone(), settings)
    }

    pub fn start_loops(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let (keys, stopped) = (self.inbound.keys.clone(), stop.clone());
        tasks.spawn(async move {
            while tokio::time::timeout(READ_KEYS, stopped.cancelled()).await.is_err() {
                if let Err(error) = keys.read().await {
                    tracing::warn!(%error, "could not reload the signing keys");
                }
            }
        });
        if self.is_ingest {
            let (checkpointer, stopped) = (self.checkpointer.clone(), stop.clone());
            tasks.spawn(async move { checkpointer.run(stopped).await });
            let (inbound, stopped) = (self.inbound.clone(), stop.clone());
            tasks.spawn(async move { inbound.keep_activity(stopped).await });
        }
    }
}
