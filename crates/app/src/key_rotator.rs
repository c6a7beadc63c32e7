//! Rotates keys of the ring: adds one, re-encrypts everything with it, and shows which are still in use.
//!
//! Whenever the process is killed, everything stays readable: the ring only grows here, a record is
//! re-encrypted in one write, and records that were not reached keep their old key until the next run.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use async_trait::async_trait;
use gancho_api::key_ring::{self, KeyUse, Rotation};
use gancho_domain::{Endpoint, TenantScope};
use gancho_inbound::keys::reseal;
use gancho_outbound::endpoints::seal;
use gancho_store::Store;
use gancho_store_cells::CellStore;
use gancho_vault::KeyRing;
use tokio::sync::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    key_ring::LoadedKeyRing,
    sealed_records::{keys_in_use, next_tenants},
};

/// How often a running process checks whether its ring's file has grown.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// How often a record is read again if it was changed concurrently.
const TRIES: usize = 10;

pub struct KeyRotator {
    store: Arc<dyn Store>,
    ring: LoadedKeyRing,
    /// The cells, whose URLs and identities are encrypted too.
    cells: Option<Arc<CellStore>>,
    /// Locked during a rotation, so that there is one at a time.
    busy: Mutex<()>,
}

impl KeyRotator {
    pub fn new(store: Arc<dyn Store>, ring: LoadedKeyRing, cells: Option<Arc<CellStore>>) -> Self {
        Self { store, ring, cells, busy: Mutex::default() }
    }

    /// Re-encrypts everything with the newest key, after it has added one if `new_key` is set.
    pub async fn rotate(&self, new_key: bool) -> anyhow::Result<Rotation> {
        let _one = self.busy.lock().await;
        if new_key {
            let number = self.ring.add_key()?;
            tracing::info!(key = number, "key added to the key ring");
            // Other nodes that share the file must load the key before they read what it has encrypted.
            if self.store.name() != "sqlite" {
                tokio::time::sleep(2 * POLL_INTERVAL).await;
            }
        }
        self.ring.refresh()?;
        let resealed = self.reseal_all().await?;
        let keys = &self.ring.keys;
        tracing::info!(
            key = keys.newest(),
            count = resealed,
            "secrets re-encrypted with the newest key"
        );
        Ok(Rotation { newest: keys.newest(), resealed, keys: keys.numbers() })
    }

    /// Returns how many endpoints, sources and other records each key encrypts, including keys of the ring
    /// that encrypt none.
    pub async fn in_use(&self) -> anyhow::Result<BTreeMap<u32, u64>> {
        let mut counts: BTreeMap<u32, u64> =
            self.ring.keys.numbers().into_iter().map(|number| (number, 0)).collect();
        for (number, records) in keys_in_use(&*self.store).await? {
            *counts.entry(number).or_default() += records;
        }
        if let Some(cells) = &self.cells {
            for number in cells.sealed().await?.iter().filter_map(|sealed| KeyRing::key_of(sealed))
            {
                *counts.entry(number).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Removes a key that encrypts nothing.
    pub async fn drop_key(&self, number: u32) -> anyhow::Result<()> {
        let _one = self.busy.lock().await;
        if number == self.ring.keys.newest() {
            bail!(
                "key {number} is the current key. hint: add another one with `gancho keys rotate` first"
            );
        }
        match self.in_use().await?.get(&number) {
            None => {
                bail!(
                    "the key ring has no key {number}. hint: list the keys with `gancho keys list`"
                )
            }
            Some(0) => self.ring.drop_key(number),
            Some(count) => bail!(
                "{count} records are still encrypted with key {number}. hint: re-encrypt them with `gancho keys rotate`"
            ),
        }
    }

    /// Reloads the key file when it changes, until stopped.
    pub fn watch_file(self: &Arc<Self>, tasks: &TaskTracker, stop: CancellationToken) {
        let key_rotator = self.clone();
        tasks.spawn(async move {
            while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
                match key_rotator.ring.refresh() {
                    Ok(true) => {
                        tracing::info!(key = key_rotator.ring.keys.newest(), "key ring reloaded");
                    }
                    Ok(false) => {}
                    Err(error) => tracing::warn!(%error, "could not reload the key ring"),
                }
            }
        });
    }

    async fn reseal_all(&self) -> anyhow::Result<u64> {
        let (mut resealed, mut failed) = (0, 0_u64);
        match reseal::reseal(&*self.store, &self.ring.keys).await {
            Ok(count) => resealed += count,
            Err(error) => {
                tracing::error!(%error, "could not re-encrypt the secrets of sources");
                failed += 1;
            }
        }
        let mut after = None;
        while let Some(tenants) = next_tenants(&*self.store, &mut after).await? {
            for tenant in tenants {
                let scope = TenantScope::internal(tenant.id);
                for endpoint in self.store.endpoints(scope).await? {
                    match self.reseal(scope, endpoint).await {
                        Ok(changed) => resealed += u64::from(changed),
                        Err(error) => {
                            tracing::error!(%error, tenant = tenant.slug, "could not re-encrypt the secrets of an endpoint");
                            failed += 1;
                        }
                    }
                }
            }
        }
        if let Some(cells) = &self.cells {
            match cells.reseal().await {
                Ok(count) => resealed += count,
                Err(error) => {
                    tracing::error!(%error, "could not re-encrypt the secrets of cells");
                    failed += 1;
                }
            }
        }
        if failed > 0 {
            bail!("re-encrypted {resealed} records; {failed} failed, see the log");
        }
        Ok(resealed)
    }

    /// Re-encrypts an endpoint. A concurrent change has used the newest key as well, or the endpoint is read
    /// again.
    async fn reseal(&self, scope: TenantScope, mut endpoint: Endpoint) -> anyhow::Result<bool> {
        let id = endpoint.id;
        for _ in 0..TRIES {
            let changed = seal::reseal(&self.ring.keys, &mut endpoint)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("endpoint {id}"))?;
            if !changed || self.store.change_endpoint(scope, endpoint).await? {
                return Ok(changed);
            }
            match self.store.endpoint(scope, id).await? {
                Some(newer) => endpoint = newer,
                None => return Ok(false),
            }
        }
        bail!("endpoint {id} was changed concurrently. hint: run the command again")
    }
}

/// For the API of a running gateway.
#[async_trait]
impl key_ring::KeyRingService for KeyRotator {
    async fn rotate(&self, new_key: bool) -> Result<Rotation, String> {
        Self::rotate(self, new_key).await.map_err(|error| format!("{error:#}"))
    }

    async fn keys(&self) -> Result<Vec<KeyUse>, String> {
        let counts = self.in_use().await.map_err(|error| format!("{error:#}"))?;
        Ok(counts.into_iter().map(|(number, records)| KeyUse { number, records }).collect())
    }
}
