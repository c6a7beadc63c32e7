//! Who wants what, kept in memory: each tenant's endpoints with their keys prepared for signing.
//!
//! What is read from the store is trusted for a few seconds, so that a change made on another node
//! is seen soon; a change made here is seen at once. If the store cannot be asked, what is known is
//! used: an endpoint must not fail because the database does.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gancho_domain::{Endpoint, EndpointId, RetryPlan, TenantId, TenantScope};
use gancho_store::{Result, Store};
use gancho_vault::{KeyRing, Place};
use gancho_wire::{Profile, SigningKey};
use parking_lot::RwLock;
use url::Url;

/// An endpoint, ready to be delivered to.
pub struct Target {
    pub endpoint: Endpoint,
    /// As it stands in headers.
    pub id: Box<str>,
    pub url: Url,
    pub profile: Arc<Profile>,
    /// Those that sign now, the newest first.
    pub keys: Vec<SigningKey>,
    pub plan: Arc<RetryPlan>,
    pub timeout: Duration,
}

/// All of a tenant's endpoints.
#[derive(Default)]
pub struct Targets {
    pub all: Vec<Arc<Target>>,
    /// Those that this node cannot use as they are stored, with why: its key ring or its profiles are
    /// not those they were saved with. Their deliveries are retried; they are not lost.
    pub unusable: Vec<(Endpoint, String)>,
}

impl Targets {
    pub fn get(&self, id: EndpointId) -> Option<&Arc<Target>> {
        self.all.iter().find(|target| target.endpoint.id == id)
    }

    /// Why an endpoint that is there cannot be used.
    pub fn trouble(&self, id: EndpointId) -> Option<&str> {
        self.unusable.iter().find(|(endpoint, _)| endpoint.id == id).map(|(_, why)| why.as_str())
    }

    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let usable = self.all.iter().map(|target| &target.endpoint);
        usable.chain(self.unusable.iter().map(|(endpoint, _)| endpoint))
    }
}

pub struct Registry {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    profiles: HashMap<String, Arc<Profile>>,
    known: RwLock<HashMap<TenantId, (Instant, Arc<Targets>)>>,
}

/// How long another node's change may go unseen.
const TRUSTED: Duration = Duration::from_secs(2);

impl Registry {
    pub fn new(store: Arc<dyn Store>, ring: Arc<KeyRing>, profiles: Vec<Profile>) -> Self {
        let profiles =
            profiles.into_iter().map(|profile| (profile.name.clone(), Arc::new(profile))).collect();
        Self { store, ring, profiles, known: RwLock::default() }
    }

    pub async fn of(&self, tenant: TenantId) -> Result<Arc<Targets>> {
        let known = self.known.read().get(&tenant).cloned();
        match known {
            Some((read_at, targets)) if read_at.elapsed() < TRUSTED => Ok(targets),
            Some((_, stale)) => Ok(self.read(tenant).await.unwrap_or(stale)),
            None => self.read(tenant).await,
        }
    }

    /// What is known without asking.
    pub fn known(&self, tenant: TenantId, id: EndpointId) -> Option<Arc<Target>> {
        self.known.read().get(&tenant).and_then(|(_, targets)| targets.get(id).cloned())
    }

    /// Something of the tenant's was changed here.
    pub fn forget(&self, tenant: TenantId) {
        self.known.write().remove(&tenant);
    }

    async fn read(&self, tenant: TenantId) -> Result<Arc<Targets>> {
        let endpoints = self.store.endpoints(TenantScope::granted(tenant)).await?;
        let mut targets = Targets::default();
        for endpoint in endpoints {
            match self.try_prepare(&endpoint) {
                Ok(parts) => targets.all.push(Arc::new(target(endpoint, parts))),
                Err(why) => {
                    tracing::error!(endpoint = %endpoint.id, why, "an endpoint cannot be used");
                    targets.unusable.push((endpoint, why));
                }
            }
        }
        let targets = Arc::new(targets);
        self.known.write().insert(tenant, (Instant::now(), targets.clone()));
        Ok(targets)
    }

    fn try_prepare(&self, endpoint: &Endpoint) -> Result<Parts, String> {
        let url = endpoint.url.parse::<Url>().map_err(|fault| fault.to_string())?;
        let profile = self
            .profiles
            .get(&endpoint.profile)
            .ok_or_else(|| format!("no profile is called `{}`", endpoint.profile))?;
        let secret = self
            .ring
            .open(place(endpoint.tenant, endpoint.id).as_place(), &endpoint.sealed_secret)
            .map_err(|fault| fault.to_string())?;
        let key = SigningKey::for_profile(profile, &secret).map_err(|fault| fault.to_string())?;
        Ok((url, profile.clone(), vec![key]))
    }
}

type Parts = (Url, Arc<Profile>, Vec<SigningKey>);

fn target(endpoint: Endpoint, (url, profile, keys): Parts) -> Target {
    let plan = endpoint.plan.clone();
    Target {
        id: endpoint.id.to_string().into(),
        plan: Arc::new(plan.unwrap_or_else(|| RetryPlan::Schedule(profile.schedule.clone()))),
        timeout: endpoint.timeout.unwrap_or(profile.timeout),
        url,
        profile,
        keys,
        endpoint,
    }
}

/// Where an endpoint's secret is kept, for sealing and opening it.
pub fn place(tenant: TenantId, endpoint: EndpointId) -> SecretPlace {
    SecretPlace { tenant: tenant.bytes(), endpoint: endpoint.bytes() }
}

pub struct SecretPlace {
    tenant: [u8; 16],
    endpoint: [u8; 16],
}

impl SecretPlace {
    pub fn as_place(&self) -> Place<'_> {
        Place { tenant: &self.tenant, table: "endpoints", column: "secret", row: &self.endpoint }
    }
}
