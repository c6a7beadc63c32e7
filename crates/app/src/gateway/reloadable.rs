//! The parts of a gateway whose settings can change while it runs.

use std::sync::Arc;

use gancho_domain::Rate;
use gancho_egress::{Client, Policy};
use gancho_engine::Engine;
use gancho_inbound::Inbound;
use gancho_mail::TenantLimits;
use gancho_outbound::{Publisher, Replays};
use gancho_store::Store;
use gancho_vault::KeyRing;

use super::{Gateway, Lanes, mailing::Mailing, shared_settings};
use crate::{
    file_handles,
    settings::{Settings, address_policy},
};

/// Maximum nodes whose settings are compared.
const MAX_NODES: usize = 500;

pub struct ReloadableParts {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    pub replays: Arc<Replays>,
    /// The clients for tenants' endpoints, and for the operator's own targets.
    pub clients: [Client; 2],
    pub inbound: Option<Arc<Inbound>>,
    pub email_limits: Option<Arc<TenantLimits>>,
    pub ring: Arc<KeyRing>,
}

/// Valid settings that have not been applied yet.
pub struct ReloadableSettings {
    policies: [Policy; 2],
    lanes: Lanes,
    store_max_bytes: Option<u64>,
    publish_rate: Option<Rate>,
    replay_rate: u32,
}

impl ReloadableSettings {
    pub fn of(settings: &Settings) -> anyhow::Result<Self> {
        let (client, own_client) =
            (address_policy::client(settings)?, address_policy::own_client(settings)?);
        let idle = client.idle_in_all + own_client.idle_in_all;
        Ok(Self {
            policies: [client.policy, own_client.policy],
            lanes: file_handles::fitting_lanes(settings, idle),
            store_max_bytes: settings.store_max_bytes.map(|size| size.0),
            publish_rate: settings.publish_rate,
            replay_rate: settings.replay_rate,
        })
    }
}

impl Gateway {
    /// Returns the parts that settings are applied to while the gateway runs.
    pub fn reloadable_parts(&self) -> ReloadableParts {
        ReloadableParts {
            store: self.store.clone(),
            engine: self.engine.clone(),
            publisher: self.publisher.clone(),
            replays: self.replays.clone(),
            clients: self.clients.clone(),
            inbound: self.receiving.as_ref().map(|receiving| receiving.inbound.clone()),
            email_limits: self.mailing.as_ref().map(Mailing::tenant_limits),
            ring: self.base.ring.clone(),
        }
    }
}

impl ReloadableParts {
    /// Tells the other nodes, with the next heartbeat, that this one runs with these settings.
    pub fn describe(&self, running: &[(&'static str, String)]) {
        self.engine.set_shared_settings(shared_settings::of(running, &self.ring));
    }

    /// Tells the other nodes at once, and warns of settings that differ.
    pub async fn compare_settings(&self, running: &[(&'static str, String)]) -> anyhow::Result<()> {
        let own = shared_settings::of(running, &self.ring);
        shared_settings::warn(&own, &self.store.nodes(MAX_NODES).await?);
        self.engine.announce_shared_settings(own).await;
        Ok(())
    }

    pub fn apply(&self, live: ReloadableSettings) {
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
    }

    /// Reloads the policy pack. An invalid one changes nothing.
    pub fn reload_policy(&self) {
        let Some(inbound) = &self.inbound else { return };
        if let Err(error) = inbound.policy.reload() {
            tracing::error!(%error, "could not reload the policy pack; the previous one stays active");
        }
    }
}
