//! The cache of tenants' endpoints, with their keys prepared for signing and their headers for sending. The
//! read cache decides how long entries are valid.

mod target;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use gancho_domain::{EndpointId, TenantId, TenantScope};
use gancho_egress::Hops;
use gancho_store::{Job, ReadCache, Result, Store};
use gancho_vault::KeyRing;
use gancho_wire::Profile;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

pub use self::target::{Target, Targets};
pub use crate::endpoints::seal::{SecretRow, place, reseal};
use crate::endpoints::size::bytes_of;

pub struct Registry {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    profiles: HashMap<String, Arc<Profile>>,
    known: ReadCache<TenantId, Targets>,
    hops: Hops,
    /// Those that go on although nobody waits for them any more.
    reads: TaskTracker,
}

/// How long a claim or a notice of another tenant waits for endpoints that are cached and may have changed. Those of a tenant
/// that changes them all the time are read less often.
const LATER_READ: Duration = Duration::from_millis(20);

impl Registry {
    pub fn new(store: Arc<dyn Store>, ring: Arc<KeyRing>, profiles: Vec<Profile>) -> Self {
        let profiles =
            profiles.into_iter().map(|profile| (profile.name.clone(), Arc::new(profile))).collect();
        let hops = Hops::new(ring.clone());
        Self {
            store,
            ring,
            profiles,
            known: ReadCache::new().with_pace(|_| true),
            hops,
            reads: TaskTracker::new(),
        }
    }

    /// Marks the gateway's own requests, to detect loops.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }

    pub async fn of(&self, tenant: TenantId) -> Result<Arc<Targets>> {
        self.known.get(tenant, |before| self.read(tenant, before)).await
    }

    /// Returns the endpoints of a tenant that the caller does not work for. Where they are being changed, it waits for
    /// [`LATER_READ`] at most and returns those before the change.
    pub async fn recent(self: &Arc<Self>, tenant: TenantId) -> Result<Arc<Targets>> {
        if !self.known.is_fresh(tenant) {
            self.refresh(tenant).await;
        }
        match self.known.peek(tenant) {
            Some(known) => Ok(known),
            None => self.of(tenant).await,
        }
    }

    /// Reads the endpoints of these jobs, so that they are cached for the attempt. If that fails or takes too long, the
    /// carrier reads them again.
    pub async fn prepare(self: &Arc<Self>, jobs: &[Job]) {
        let tenants: BTreeSet<TenantId> = jobs.iter().map(|job| job.tenant).collect();
        let outdated = tenants.into_iter().filter(|tenant| !self.known.is_fresh(*tenant));
        join_all(outdated.map(|tenant| self.refresh(tenant))).await;
    }

    /// Reads what is not cached, and what is for [`LATER_READ`] at most. The read goes on after that: a call
    /// that finds the entry being read relies on it.
    async fn refresh(self: &Arc<Self>, tenant: TenantId) {
        if self.known.peek(tenant).is_none() {
            let _ = self.of(tenant).await;
            return;
        }
        let registry = self.clone();
        let read = self.reads.spawn(async move { registry.of(tenant).await.map(drop) });
        let _ = timeout(LATER_READ, read).await;
    }

    /// Returns the cached endpoints of a tenant, without reading the store.
    pub fn peek(&self, tenant: TenantId) -> Option<Arc<Targets>> {
        self.known.peek(tenant)
    }

    /// Returns a cached endpoint, without reading the store.
    pub fn known(&self, tenant: TenantId, id: EndpointId) -> Option<Arc<Target>> {
        self.known.peek(tenant).and_then(|targets| targets.get(id).cloned())
    }

    /// Invalidates the cache after a change on this node.
    pub fn forget(&self, tenant: TenantId) {
        self.known.forget(tenant);
    }

    pub fn profile(&self, name: &str) -> Option<Arc<Profile>> {
        self.profiles.get(name).cloned()
    }

    /// Returns the names of the profiles, in order.
    pub fn profile_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Reads the endpoints if they have changed, and prepares only what has changed.
    async fn read(&self, tenant: TenantId, before: Option<Arc<Targets>>) -> Result<Arc<Targets>> {
        let scope = TenantScope::internal(tenant);
        // The version is read first, so that a change between the two reads is seen the next time.
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
        targets.bytes = endpoints.iter().map(bytes_of).sum();
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
