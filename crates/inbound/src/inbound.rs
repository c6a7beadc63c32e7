//! The parts that the flow in [`receive`](crate::receive) uses.

use std::sync::Arc;

use gancho_domain::{Clock, IdMaker};
use gancho_egress::Client;
use gancho_engine::Engine;
use gancho_store::Store;

use crate::{
    Limits, PolicyService, Rejections, SigningKeys, Sources,
    activity::Activity,
    counters::Counters,
    receive::{accept::Acceptor, verify::RequestVerifier},
    sns::{Sns, SnsHosts},
};

pub struct InboundSetup {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub sources: Arc<Sources>,
    pub keys: Arc<SigningKeys>,
    pub policy: Arc<PolicyService>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub limits: Limits,
}

pub struct Inbound {
    pub store: Arc<dyn Store>,
    pub sources: Arc<Sources>,
    pub keys: Arc<SigningKeys>,
    pub policy: Arc<PolicyService>,
    pub rejections: Rejections,
    pub counters: Counters,
    pub(crate) activity: Activity,
    pub limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<IdMaker>,
    pub(crate) acceptor: Acceptor,
    pub(crate) verifier: RequestVerifier,
}

impl Inbound {
    pub fn new(setup: InboundSetup) -> Self {
        let InboundSetup { store, engine, sources, keys, policy, ids, clock, limits } = setup;
        let acceptor = Acceptor {
            engine,
            ids: ids.clone(),
            clock: clock.clone(),
            remembered: limits.remembered,
        };
        Self {
            store,
            sources,
            keys,
            policy,
            rejections: Rejections::default(),
            counters: Counters::default(),
            activity: Activity::default(),
            verifier: RequestVerifier::new(limits.tolerance),
            limits,
            clock,
            ids,
            acceptor,
        }
    }

    /// Also accepts Amazon SNS messages. `client` fetches certificates and confirms subscriptions; `hosts`
    /// are the trusted hosts of SNS: [`SnsHosts::amazon`], plus those that the operator adds.
    pub fn with_sns(self, client: Client, hosts: SnsHosts) -> Self {
        let sns = Sns::new(client, hosts, self.limits.remembered);
        Self { verifier: self.verifier.with_sns(sns), ..self }
    }
}
