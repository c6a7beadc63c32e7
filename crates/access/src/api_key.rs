//! API keys of tenants: creation, verification, revocation, and when each was last used.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use gancho_domain::{Clock, Id, IdMaker, TenantId, TenantScope, Time, id::IdKind};
use gancho_store::{
    Actor, ActorKind, CachePolicy, Collection, Document, Precondition, ReadCache, Result, Store,
    StoreError,
};
use gancho_vault::Secret;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::task::TaskTracker;

use crate::{Right, Rights, TenantCache, TenantPrincipal, digest::sha256, key_text};

pub enum ApiKeyIdKind {}

impl IdKind for ApiKeyIdKind {
    const PREFIX: &'static str = "key";
}

pub type KeyId = Id<ApiKeyIdKind>;

/// The collections of the keys and of their last uses. They are separate so that recording a use never
/// conflicts with a change of the key.
pub const COLLECTION: &str = "api_key";
pub const USED_COLLECTION: &str = "api_key_used";

/// Maximum number of keys of a tenant that are neither revoked nor expired.
pub const MAX_KEYS: usize = 500;
const KEYS_PER_PAGE: usize = 200;
/// How long another node may still accept a revoked key.
const CACHE_TTL: Duration = Duration::from_secs(5);
/// Maximum cached look-ups. Beyond it entries are evicted, so that made-up ids cannot fill the memory.
const MAX_CACHED: usize = 20_000;
/// Attempts to write a change that conflicts with others.
const MAX_TRIES: usize = 5;
/// Minimum time between two recorded uses.
const USE_RECORD_INTERVAL: Duration = Duration::from_secs(60);
/// How long the last use is remembered.
const USE_RETENTION: Duration = Duration::from_hours(24 * 400);
/// How long an expired or revoked key stays in the list.
pub const RETENTION_AFTER_END: Duration = Duration::from_hours(24 * 90);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub tenant: TenantId,
    pub name: String,
    pub rights: Rights,
    /// SHA-256 of the secret part. That has 256 random bits, so no slow hash is needed.
    hash: [u8; 32],
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

#[derive(Serialize, Deserialize)]
struct StoredKey {
    name: String,
    scopes: Vec<String>,
    hash: String,
    created_at: i64,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl ApiKey {
    pub fn new(id: KeyId, tenant: TenantId, name: String, rights: Rights, secret: &str) -> Self {
        Self {
            id,
            tenant,
            name,
            rights,
            hash: sha256(secret),
            created_at: id.time(),
            expires_at: None,
            revoked_at: None,
        }
    }

    pub fn to_bytes(&self) -> Result<Bytes> {
        let stored = StoredKey {
            name: self.name.clone(),
            scopes: self.rights.names().into_iter().map(ToOwned::to_owned).collect(),
            hash: HEXLOWER.encode(&self.hash),
            created_at: self.created_at.micros(),
            expires_at: self.expires_at.map(Time::micros),
            revoked_at: self.revoked_at.map(Time::micros),
        };
        let bytes = serde_json::to_vec(&stored);
        bytes.map(Bytes::from).map_err(|error| StoreError::Corrupt(error.to_string()))
    }

    pub fn of_document(document: &Document) -> Result<Self> {
        let read = || -> Option<Self> {
            let stored: StoredKey = serde_json::from_slice(&document.body).ok()?;
            Some(Self {
                id: document.key.parse().ok()?,
                tenant: document.tenant?,
                name: stored.name,
                rights: stored
                    .scopes
                    .iter()
                    .filter_map(|name| name.parse::<Right>().ok())
                    .collect(),
                hash: HEXLOWER.decode(stored.hash.as_bytes()).ok()?.try_into().ok()?,
                created_at: Time::from_micros(stored.created_at),
                expires_at: stored.expires_at.map(Time::from_micros),
                revoked_at: stored.revoked_at.map(Time::from_micros),
            })
        };
        read().ok_or_else(|| StoreError::Corrupt(format!("API key {}", document.key)))
    }

    /// Writes the key to its collection. A key with an end is removed [`RETENTION_AFTER_END`] after it.
    pub async fn put(
        &self,
        store: &dyn Store,
        collection: Collection,
        expect: Precondition,
    ) -> Result<Option<u64>> {
        let (key, body) = (self.id.to_string(), self.to_bytes()?);
        match self.revoked_at.or(self.expires_at) {
            Some(end) => {
                store
                    .put_document_until(collection, &key, body, expect, end + RETENTION_AFTER_END)
                    .await
            }
            None => store.put_document(collection, &key, body, expect).await,
        }
    }

    pub(crate) fn is_valid(&self, now: Time) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A key, and when it was last used, to the minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyUse {
    pub key: ApiKey,
    pub last_used_at: Option<Time>,
}

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum KeyError {
    #[error("the API key does not exist")]
    NotFound,
    #[error("the API key is being changed by others; retry")]
    Busy,
    #[error("the tenant has {MAX_KEYS} API keys already; revoke those that are not used")]
    TooMany,
    #[error("the system random number generator failed")]
    NoRandom,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates, verifies and revokes API keys. Caches lookups for [`CACHE_TTL`].
pub struct ApiKeys {
    store: Arc<dyn Store>,
    ids: Arc<IdMaker>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    cache: ReadCache<KeyId, CachedKey>,
}

/// The cached result of looking up an id.
struct CachedKey {
    /// `None` if no such key exists.
    key: Option<ApiKey>,
    /// The actor in the audit log.
    actor: Arc<Actor>,
    /// When a use was last recorded, in microseconds.
    recorded_at: Arc<AtomicI64>,
}

impl CachedKey {
    fn of(key: Option<ApiKey>) -> Self {
        let id = key.as_ref().map(|key| key.id.to_string()).unwrap_or_default();
        let actor = Arc::new(Actor::new(ActorKind::ApiKey, id));
        Self { key, actor, recorded_at: Arc::default() }
    }
}

impl ApiKeys {
    /// Creates the service. `tasks` runs the writes that requests do not wait for.
    pub fn new(
        store: Arc<dyn Store>,
        ids: Arc<IdMaker>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> Self {
        let policy = CachePolicy { ttl: CACHE_TTL, max_entries: MAX_CACHED, is_strict: true };
        // Callers choose the ids.
        let cache = ReadCache::with(policy).with_absent(|lookup: &CachedKey| lookup.key.is_none());
        Self { store, ids, clock, tasks, cache }
    }

    /// Creates a key. Returns it with its text, which cannot be read again.
    pub async fn create(
        &self,
        scope: TenantScope,
        name: String,
        rights: Rights,
        expires_at: Option<Time>,
    ) -> Result<(ApiKey, Secret), KeyError> {
        let collection = Collection::of(scope, COLLECTION);
        if self.valid_keys(collection).await? >= MAX_KEYS {
            return Err(KeyError::TooMany);
        }
        let id = self.ids.make();
        let (text, secret) = key_text::new_key(id).ok_or(KeyError::NoRandom)?;
        let key = ApiKey::new(id, scope.tenant(), name, rights, &secret);
        let key = ApiKey { expires_at, ..key };
        key.put(&*self.store, collection, Precondition::Nothing).await?;
        Ok((key, text))
    }

    /// Counts keys that are neither revoked nor expired, up to the limit.
    async fn valid_keys(&self, collection: Collection) -> Result<usize> {
        let (mut count, mut after, now) = (0, None, self.clock.now());
        loop {
            let page = self.store.documents(collection, after.as_deref(), KEYS_PER_PAGE).await?;
            for document in &page {
                count += usize::from(ApiKey::of_document(document)?.is_valid(now));
            }
            after = page.last().map(|document| document.key.clone());
            if page.len() < KEYS_PER_PAGE || count >= MAX_KEYS {
                return Ok(count);
            }
        }
    }

    /// Lists the keys after `after`, oldest first, including revoked ones.
    pub async fn list(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<ApiKeyUse>> {
        let documents = self.store.documents(Collection::of(scope, COLLECTION), after, max).await?;
        let uses = self.store.documents(Collection::of(scope, USED_COLLECTION), after, max).await?;
        let with_use = |document: &Document| {
            let last_used_at = uses.iter().find(|it| it.key == document.key).and_then(used_at);
            Ok(ApiKeyUse { key: ApiKey::of_document(document)?, last_used_at })
        };
        documents.iter().map(with_use).collect()
    }

    /// Returns a key of any tenant, even if it is revoked.
    pub async fn find(&self, id: KeyId) -> Result<Option<ApiKey>> {
        let document = self.store.find_document(COLLECTION, &id.to_string()).await?;
        document.as_ref().map(ApiKey::of_document).transpose()
    }

    /// Returns what a key may be used for, even if it is revoked.
    pub async fn rights_of(&self, scope: TenantScope, id: KeyId) -> Result<Rights, KeyError> {
        let collection = Collection::of(scope, COLLECTION);
        let found = self.store.document(collection, &id.to_string()).await?;
        Ok(ApiKey::of_document(&found.ok_or(KeyError::NotFound)?)?.rights)
    }

    /// Revokes a key: on this node at once, on the others after [`CACHE_TTL`].
    pub async fn revoke(&self, scope: TenantScope, id: KeyId) -> Result<(), KeyError> {
        let collection = Collection::of(scope, COLLECTION);
        for _ in 0..MAX_TRIES {
            let found = self.store.document(collection, &id.to_string()).await?;
            let document = found.ok_or(KeyError::NotFound)?;
            let mut key = ApiKey::of_document(&document)?;
            if key.revoked_at.is_some() {
                return Ok(());
            }
            key.revoked_at = Some(self.clock.now());
            let written =
                key.put(&*self.store, collection, Precondition::Version(document.version)).await?;
            self.cache.forget(id);
            if written.is_some() {
                tracing::info!(key = %id, "API key revoked");
                return Ok(());
            }
        }
        Err(KeyError::Busy)
    }

    /// Returns the owner of a valid key, and `None` for every invalid one.
    pub async fn verify(
        &self,
        tenants: &TenantCache,
        token: &str,
    ) -> Result<Option<TenantPrincipal>> {
        let parsed = key_text::parse(token);
        let found = match parsed {
            Some((id, _)) => self.look_up(id).await?,
            None => Arc::new(CachedKey::of(None)),
        };
        // Do the same work for unknown, wrong and valid keys, so that timing reveals nothing.
        let hash = sha256(parsed.map_or(token, |(_, secret)| secret));
        let expected = found.key.as_ref().map_or([0; 32], |key| key.hash);
        let is_right = verify_slices_are_equal(&hash, &expected).is_ok();
        let now = self.clock.now();
        let Some(key) = found.key.as_ref().filter(|key| is_right && key.is_valid(now)) else {
            return Ok(None);
        };
        let Some(tenant) = tenants.get(key.tenant).await? else { return Ok(None) };
        self.record_use(key, &found.recorded_at, now);
        Ok(Some(TenantPrincipal::authenticated(tenant, key.rights, found.actor.clone())))
    }

    async fn look_up(&self, id: KeyId) -> Result<Arc<CachedKey>> {
        self.cache.get(id, |before| self.read(id, before)).await
    }

    async fn read(&self, id: KeyId, before: Option<Arc<CachedKey>>) -> Result<Arc<CachedKey>> {
        let key = match before.as_ref().and_then(|before| before.key.as_ref()) {
            Some(key) => self.reread(key).await?,
            None => self.find(id).await?,
        };
        let recorded_at = before.map_or_else(Arc::default, |before| before.recorded_at.clone());
        Ok(Arc::new(CachedKey { recorded_at, ..CachedKey::of(key) }))
    }

    /// Reads the key again, on the account of its tenant, because the caller is known.
    async fn reread(&self, key: &ApiKey) -> Result<Option<ApiKey>> {
        let collection = Collection::of(TenantScope::internal(key.tenant), COLLECTION);
        let document = self.store.document(collection, &key.id.to_string()).await?;
        document.as_ref().map(ApiKey::of_document).transpose()
    }

    /// Records the use in the background. One of several concurrent requests writes it.
    fn record_use(&self, key: &ApiKey, recorded_at: &AtomicI64, now: Time) {
        let before = recorded_at.load(Ordering::Relaxed);
        let is_recent = now.since(Time::from_micros(before)) < USE_RECORD_INTERVAL;
        if before != 0 && is_recent
            || recorded_at
                .compare_exchange(before, now.micros(), Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let (store, id) = (self.store.clone(), key.id);
        let used = Collection::of(TenantScope::internal(key.tenant), USED_COLLECTION);
        self.tasks.spawn(async move {
            let body = Bytes::from(now.micros().to_string());
            let (key, until) = (id.to_string(), now + USE_RETENTION);
            let written =
                store.put_document_until(used, &key, body, Precondition::Anything, until).await;
            if let Err(error) = written {
                tracing::debug!(%error, "could not record the use of an API key");
            }
        });
    }
}

/// Returns when a key was last used, as stored in [`USED_COLLECTION`].
pub fn used_at(document: &Document) -> Option<Time> {
    std::str::from_utf8(&document.body).ok()?.parse().ok().map(Time::from_micros)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
