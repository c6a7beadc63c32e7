//! Who wants what, kept in memory: each tenant's endpoints with their keys prepared for signing and
//! their headers for sending. How long that is trusted is the [`crate::memory`]'s to say.

mod target;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use gancho_domain::{EndpointId, TenantId, TenantScope};
use gancho_egress::Hops;
use gancho_store::{Job, ReadCache, Result, Store};
use gancho_vault::KeyRing;
use gancho_wire::Profile;

pub use self::target::{Target, Targets};
pub use crate::endpoints::seal::{SecretPlace, place, reseal};

pub struct Registry {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    profiles: HashMap<String, Arc<Profile>>,
    known: ReadCache<TenantId, Targets>,
    hops: Hops,
}

impl Registry {
    pub fn new(store: Arc<dyn Store>, ring: Arc<KeyRing>, profiles: Vec<Profile>) -> Self {
        let profiles =
            profiles.into_iter().map(|profile| (profile.name.clone(), Arc::new(profile))).collect();
        let hops = Hops::new(ring.clone());
        Self { store, ring, profiles, known: ReadCache::new(), hops }
    }

    /// What marks the gateway's own requests.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }

    pub async fn of(&self, tenant: TenantId) -> Result<Arc<Targets>> {
        self.known.get(tenant, |before| self.read(tenant, before)).await
    }

    /// Reads the endpoints that these are for, so that they are cached for the attempt. If the store cannot be
    /// asked, the carrier asks again then.
    pub async fn prepare(&self, jobs: &[Job]) {
        let tenants: BTreeSet<TenantId> = jobs.iter().map(|job| job.tenant).collect();
        for tenant in tenants {
            let _ = self.of(tenant).await;
        }
    }

    /// What is known without asking.
    pub fn known(&self, tenant: TenantId, id: EndpointId) -> Option<Arc<Target>> {
        self.known.peek(tenant).and_then(|targets| targets.get(id).cloned())
    }

    /// Something of the tenant's was changed here.
    pub fn forget(&self, tenant: TenantId) {
        self.known.forget(tenant);
    }

    pub fn profile(&self, name: &str) -> Option<Arc<Profile>> {
        self.profiles.get(name).cloned()
    }

    /// In order.
    pub fn profile_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Nothing is read where nothing has changed, and only what has changed is made ready.
    async fn read(&self, tenant: TenantId, before: Option<Arc<Targets>>) -> Result<Arc<Targets>> {
        let scope = TenantScope::internal(tenant);
        // First the version: a change that comes between the two is then seen at the next look.
        let version = self.store.endpoints_version(scope).await?;
        if let Some(before) = &before
            && before.version == version
            && before.unusable.is_empty()
        {
            return Ok(before.clone());
        }
        let known: HashMap<EndpointId, &Arc<Target>> = before
            .iter()
            .flat_map(|before| &before.all)
            .map(|one| (one.endpoint.id, one))
            .collect();
        let mut targets = Targets { version, ..Targets::default() };
        let mut endpoints = self.store.endpoints(scope).await?;
        endpoints.sort_by_key(|endpoint| endpoint.id);
        for endpoint in endpoints {
            if let Some(same) = known.get(&endpoint.id).filter(|one| one.endpoint == endpoint) {
                targets.all.push(Arc::clone(same));
                continue;
            }
            match target::prepare(&endpoint, &self.ring, &self.profiles) {
                Ok(ready) => targets.all.push(Arc::new(ready.with(endpoint))),
                Err(why) => {
                    tracing::error!(endpoint = %endpoint.id, reason = why, "endpoint is unusable");
                    targets.unusable.push((endpoint, why));
                }
            }
        }
        Ok(Arc::new(targets))
    }
}
