//! The parts of a gateway whose settings can change while it runs.

use std::sync::Arc;

use gancho_domain::Rate;
use gancho_egress::{Client, Policy};
use gancho_engine::Engine;
use gancho_inbound::Inbound;
use gancho_mail::TenantLimits;
use gancho_outbound::{Publisher, Replays};
use gancho_store::{NodeFacts, Store};
use gancho_vault::KeyRing;

use super::{Gateway, Lanes, mailing::Mailing, setup, shared_settings};
use crate::{
    file_handles,
    settings::{LoadedSettings, address_policy},
};

/// Nodes whose settings are compared.
const MAX_NODES: usize = 500;

pub struct LiveParts {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    pub replays: Arc<Replays>,
    /// For tenants' endpoints, and for the operator's own targets.
    pub clients: [Client; 2],
    pub inbound: Option<Arc<Inbound>>,
    pub email_limits: Option<Arc<TenantLimits>>,
    pub ring: Arc<KeyRing>,
    pub roles: String,
}

/// Valid settings that have not been applied yet.
pub struct LiveSettings {
    policies: [Policy; 2],
    lanes: Lanes,
    store_max_bytes: Option<u64>,
    publish_rate: Option<Rate>,
    replay_rate: u32,
    facts: NodeFacts,
}

impl Gateway {
    /// What settings that can change while the gateway runs are applied to.
    pub fn live_parts(&self) -> LiveParts {
        LiveParts {
            store: self.store.clone(),
            engine: self.engine.clone(),
            publisher: self.publisher.clone(),
            replays: self.replays.clone(),
            clients: self.clients.clone(),
            inbound: self.receiving.as_ref().map(|receiving| receiving.inbound.clone()),
            email_limits: self.mailing.as_ref().map(Mailing::tenant_limits),
            ring: self.base.ring.clone(),
            roles: self.roles.clone(),
        }
    }

    /// Tells the other nodes what this one has set, and warns of what they set differently.
    pub async fn compare_settings(&self, loaded: &LoadedSettings) -> anyhow::Result<()> {
        let facts = self.live_parts().facts(loaded)?;
        shared_settings::warn(&facts, &self.store.nodes(MAX_NODES).await?);
        self.engine.announce(facts).await;
        Ok(())
    }
}

impl LiveParts {
    pub fn prepare(&self, loaded: &LoadedSettings) -> anyhow::Result<LiveSettings> {
        let settings = &loaded.settings;
        let (client, own_client) =
            (address_policy::client(settings)?, address_policy::own_client(settings)?);
        let idle = client.idle_in_all + own_client.idle_in_all;
        Ok(LiveSettings {
            policies: [client.policy, own_client.policy],
            lanes: file_handles::fitting_lanes(settings, idle),
            store_max_bytes: settings.store_max_bytes.map(|size| size.0),
            publish_rate: settings.publish_rate,
            replay_rate: settings.replay_rate,
            facts: self.facts(loaded)?,
        })
    }

    /// What this node says of itself.
    pub fn facts(&self, loaded: &LoadedSettings) -> anyhow::Result<NodeFacts> {
        Ok(NodeFacts {
            shared_settings: shared_settings::of(loaded, &self.ring)?,
            ..setup::node_facts(self.roles.clone())
        })
    }

    pub fn apply(&self, live: LiveSettings) {
        for (client, policy) in self.clients.iter().zip(live.policies) {
            client.set_policy(policy);
        }
        self.store.set_space_limit(live.store_max_bytes);
        self.publisher.rates.set_default(live.publish_rate);
        self.replays.set_rate(live.replay_rate);
        if let Some(limits) = &self.email_limits {
            limits.set_of_all(live.lanes.emails_of_tenant);
        }
        live.lanes.apply(&self.engine);
        self.engine.set_facts(live.facts);
    }

    /// Reloads the policy pack. An invalid one changes nothing.
    pub fn reload_policy(&self) {
        let Some(inbound) = &self.inbound else { return };
        if let Err(error) = inbound.policy.reload() {
            tracing::error!(%error, "could not reload the policy pack; the previous one stays active");
        }
    }
}
