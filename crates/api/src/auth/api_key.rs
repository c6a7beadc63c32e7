//! A tenant's API keys: how they are kept, how one is checked, and when it was last used.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use gancho_domain::{Clock, Id, Tenant, TenantId, TenantScope, Time, id::Kind};
use gancho_store::{Expect, Record, Result, Shelf, Store, StoreError};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;

use super::{Right, Rights, admin::sha256, key_text};
use crate::tenant_cache::TenantCache;

pub enum OfKey {}

impl Kind for OfKey {
    const PREFIX: &'static str = "key";
}

pub type KeyId = Id<OfKey>;

/// The shelf of the keys, and of when each was last used: apart, so that using one changes nothing
/// that someone may be changing.
pub const SHELF: &str = "api_key";
pub const USED_SHELF: &str = "api_key_used";

/// How long a key that was revoked on another node may still be taken for good.
const TRUSTED: Duration = Duration::from_secs(5);
/// More are forgotten and read again: strangers must not fill the memory with ids they make up.
const MOST: usize = 20_000;
/// Use is noted no more often than this,
const NOTED_EVERY: Duration = Duration::from_secs(60);
/// and remembered as long as this.
const USE_REMEMBERED: Duration = Duration::from_hours(24 * 400);
/// How long a key that is no longer good stays in the list.
pub const KEPT_AFTER_END: Duration = Duration::from_hours(24 * 90);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub tenant: TenantId,
    pub name: String,
    pub rights: Rights,
    /// SHA-256 of the secret part, which has 256 bits of chance: nothing slower is needed.
    hash: [u8; 32],
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
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
        let kept = Kept {
            name: self.name.clone(),
            scopes: self.rights.names().into_iter().map(ToOwned::to_owned).collect(),
            hash: HEXLOWER.encode(&self.hash),
            created_at: self.created_at.micros(),
            expires_at: self.expires_at.map(Time::micros),
            revoked_at: self.revoked_at.map(Time::micros),
        };
        let bytes = serde_json::to_vec(&kept);
        bytes.map(Bytes::from).map_err(|fault| StoreError::Corrupt(fault.to_string()))
    }

    pub fn of_record(record: &Record) -> Result<Self> {
        let read = || -> Option<Self> {
            let kept: Kept = serde_json::from_slice(&record.body).ok()?;
            Some(Self {
                id: record.key.parse().ok()?,
                tenant: record.tenant?,
                name: kept.name,
                rights: kept.scopes.iter().filter_map(|name| name.parse::<Right>().ok()).collect(),
                hash: HEXLOWER.decode(kept.hash.as_bytes()).ok()?.try_into().ok()?,
                created_at: Time::from_micros(kept.created_at),
                expires_at: kept.expires_at.map(Time::from_micros),
                revoked_at: kept.revoked_at.map(Time::from_micros),
            })
        };
        read().ok_or_else(|| StoreError::Corrupt(format!("the API key {}", record.key)))
    }

    /// Writes it to its shelf. A key that ends leaves the list some time after its end.
    pub async fn put(
        &self,
        store: &dyn Store,
        shelf: Shelf,
        expect: Expect,
    ) -> Result<Option<u64>> {
        let (key, body) = (self.id.to_string(), self.to_bytes()?);
        match self.revoked_at.or(self.expires_at) {
            Some(end) => {
                store.put_record_until(shelf, &key, body, expect, end + KEPT_AFTER_END).await
            }
            None => store.put_record(shelf, &key, body, expect).await,
        }
    }

    fn is_good(&self, now: Time) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// Checks keys, and keeps those that were looked up for a moment.
pub struct KeyDesk {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    known: RwLock<HashMap<KeyId, Known>>,
    /// How often something was forgotten, see [`KeyDesk::look_up`].
    forgotten: AtomicU64,
}

#[derive(Clone)]
struct Known {
    read_at: Instant,
    /// Nothing where there is no such key.
    key: Option<Arc<ApiKey>>,
    /// When its use was last written down.
    noted: Arc<AtomicI64>,
}

impl KeyDesk {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, tasks: TaskTracker) -> Self {
        Self { store, clock, tasks, known: RwLock::default(), forgotten: AtomicU64::new(0) }
    }

    /// Whose key it is and what it may do; nothing where it is not good, for whatever reason.
    pub async fn verify(
        &self,
        tenants: &TenantCache,
        token: &str,
    ) -> Result<Option<(Arc<Tenant>, Rights)>> {
        let parsed = key_text::parse(token);
        let known = match parsed {
            Some((id, _)) => self.look_up(id).await?,
            None => Known::nothing(),
        };
        // The same work whether there is such a key or not, and whether it is good or not.
        let hash = sha256(parsed.map_or(token, |(_, secret)| secret));
        let expected = known.key.as_ref().map_or([0; 32], |key| key.hash);
        let is_right = verify_slices_are_equal(&hash, &expected).is_ok();
        let now = self.clock.now();
        let Some(key) = known.key.filter(|key| is_right && key.is_good(now)) else {
            return Ok(None);
        };
        let Some(tenant) = tenants.get(key.tenant).await? else { return Ok(None) };
        self.note_use(&key, &known.noted, now);
        Ok(Some((tenant, key.rights)))
    }

    async fn look_up(&self, id: KeyId) -> Result<Known> {
        let known = self.known.read().get(&id).cloned();
        if let Some(known) = &known
            && known.read_at.elapsed() < TRUSTED
        {
            return Ok(known.clone());
        }
        let forgotten = self.forgotten.load(Ordering::Acquire);
        let record = self.store.find_record(SHELF, &id.to_string()).await?;
        let key = record.as_ref().map(ApiKey::of_record).transpose()?.map(Arc::new);
        let noted = known.map_or_else(Arc::default, |known| known.noted);
        let fresh = Known { read_at: Instant::now(), key, noted };
        self.keep(id, fresh.clone(), forgotten);
        Ok(fresh)
    }

    /// `forgotten` is how often something had been forgotten before it was read. What was read may be
    /// older than what was forgotten since: a revoked key must not come back.
    fn keep(&self, id: KeyId, fresh: Known, forgotten: u64) {
        let mut all = self.known.write();
        if self.forgotten.load(Ordering::Acquire) != forgotten {
            return;
        }
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(id, fresh);
    }

    /// It was changed here.
    pub fn forget(&self, id: KeyId) {
        let mut all = self.known.write();
        self.forgotten.fetch_add(1, Ordering::Release);
        all.remove(&id);
    }

    /// Written beside the request, and seldom. Of many requests at once, one writes.
    fn note_use(&self, key: &ApiKey, noted: &AtomicI64, now: Time) {
        let before = noted.load(Ordering::Relaxed);
        let is_recent = now.since(Time::from_micros(before)) < NOTED_EVERY;
        if before != 0 && is_recent
            || noted
                .compare_exchange(before, now.micros(), Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let (store, id) = (self.store.clone(), key.id);
        let used = Shelf::of(TenantScope::granted(key.tenant), USED_SHELF);
        self.tasks.spawn(async move {
            let body = Bytes::from(now.micros().to_string());
            let (key, until) = (id.to_string(), now + USE_REMEMBERED);
            let noted = store.put_record_until(used, &key, body, Expect::Anything, until).await;
            if let Err(error) = noted {
                tracing::debug!(%error, "the use of an API key was not noted");
            }
        });
    }
}

impl Known {
    fn nothing() -> Self {
        Self { read_at: Instant::now(), key: None, noted: Arc::default() }
    }
}

/// When a key was last used, as it stands on its shelf.
pub fn used_at(record: &Record) -> Option<Time> {
    std::str::from_utf8(&record.body).ok()?.parse().ok().map(Time::from_micros)
}

#[cfg(test)]
mod tests {
    use gancho_domain::SystemClock;
    use gancho_store_sqlite::SqliteStore;

    use super::*;

    // faults.md E7
    #[tokio::test]
    async fn what_was_revoked_while_it_was_read_does_not_come_back() {
        let store = SqliteStore::inline().unwrap();
        let desk = KeyDesk::new(store, Arc::new(SystemClock), TaskTracker::new());
        let id = KeyId::from_bits(9 << 80);
        let key = ApiKey::new(id, TenantId::from_bits(3), "ci".into(), Rights::ALL, "s3cret");
        let read = || Known { key: Some(Arc::new(key.clone())), ..Known::nothing() };
        let before = desk.forgotten.load(Ordering::Relaxed);
        desk.forget(id); // revoked after it was read, and before it was kept
        desk.keep(id, read(), before);
        assert!(desk.look_up(id).await.unwrap().key.is_none(), "the store is asked");
        let before = desk.forgotten.load(Ordering::Relaxed);
        desk.keep(id, read(), before);
        assert!(desk.look_up(id).await.unwrap().key.is_some());
    }

    #[test]
    fn kept_and_read_without_the_secret() {
        let tenant = TenantId::from_bits(3);
        let rights = Rights::default().with(Right::Read);
        let mut key = ApiKey::new(KeyId::from_bits(9 << 80), tenant, "ci".into(), rights, "s3cret");
        key.expires_at = Some(Time::from_secs(5));
        let body = key.to_bytes().unwrap();
        assert!(!String::from_utf8_lossy(&body).contains("s3cret"));
        let record = Record { tenant: Some(tenant), key: key.id.to_string(), body, version: 1 };
        assert_eq!(ApiKey::of_record(&record).unwrap(), key);
        assert!(key.is_good(Time::from_secs(4)) && !key.is_good(Time::from_secs(5)));
    }
}
