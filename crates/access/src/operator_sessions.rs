//! Sessions of the dashboard: of the owner of the operator token, and of users. They are stored, so that every node
//! accepts them and a restart ends none. A browser has the id in a cookie, with a tag that only this gateway can
//! compute; the store has the hash of the id.

use std::{sync::Arc, time::Duration};

use aws_lc_rs::{constant_time::verify_slices_are_equal, rand};
use bytes::Bytes;
use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use gancho_domain::{Clock, Time};
use gancho_store::{CachePolicy, Collection, Precondition, ReadCache, Result, Store, StoreError};
use gancho_vault::KeyRing;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Access, Operator, User, digest::sha256};

/// How long a session may be unused before it ends.
pub const MAX_IDLE: Duration = Duration::from_hours(12);
/// How long a session may last, however much it is used.
pub const MAX_AGE: Duration = Duration::from_hours(7 * 24);
/// The kind of the sessions' documents.
pub const KIND: &str = "operator_session";
const COLLECTION: Collection = Collection::operators(KIND);
/// How long another node may still accept a session that was ended.
const CACHE_TTL: Duration = Duration::from_secs(5);
const MAX_CACHED: usize = 1_000;
/// A use is recorded if the last record is older than this.
const USE_PRECISION: Duration = Duration::from_mins(10);
const ID_BYTES: usize = 32;
const TAG_BYTES: usize = 32;

type IdHash = [u8; 32];

pub struct OperatorSessions {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    clock: Arc<dyn Clock>,
    /// Only cookies with a valid tag are looked up, so unauthenticated callers cannot fill it.
    cache: ReadCache<IdHash, Option<SessionRecord>>,
}

/// A person who is logged in.
#[derive(Debug, Clone)]
pub struct OperatorSession {
    id: IdHash,
    /// The token that every form of this session must contain.
    csrf: String,
    operator: Operator,
    until: Time,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SessionRecord {
    /// `None` for the owner of the operator token.
    user: Option<UserClaim>,
    began_at_us: i64,
    used_at_us: i64,
    #[serde(skip)]
    version: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct UserClaim {
    name: String,
    /// The stamp of the account. If that changes, the session ends.
    stamp: String,
}

/// A cookie that this gateway has made, even if its session is over.
#[derive(Debug, Clone)]
pub struct SessionCookie {
    id: IdHash,
    csrf: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BeginSessionError {
    #[error("no random numbers")]
    NoRandom,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OperatorSession {
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    pub fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Whether a form's token is that of this session.
    pub fn has_csrf(&self, token: &str) -> bool {
        verify_slices_are_equal(self.csrf.as_bytes(), token.as_bytes()).is_ok()
    }
}

impl SessionRecord {
    fn until(&self) -> Time {
        let of = Time::from_micros;
        (of(self.used_at_us) + MAX_IDLE).min(of(self.began_at_us) + MAX_AGE)
    }
}

impl OperatorSessions {
    pub fn new(store: Arc<dyn Store>, ring: Arc<KeyRing>, clock: Arc<dyn Clock>) -> Self {
        let policy = CachePolicy { ttl: CACHE_TTL, max_entries: MAX_CACHED, is_strict: true };
        Self { store, ring, clock, cache: ReadCache::with(policy) }
    }

    /// Returns the secret with which all nodes protect forms that wait for a login.
    pub fn draft_secret(&self) -> String {
        let keys = self.ring.derive("dashboard drafts");
        HEXLOWER.encode(&keys.tag(keys.newest(), &["drafts"]).unwrap_or_default())
    }

    async fn read(&self, id: IdHash) -> Result<Option<SessionRecord>> {
        let read = |_| async move {
            let found = self.store.document(COLLECTION, &key_of(id)).await?;
            let record = found.and_then(|document| {
                let record: SessionRecord = serde_json::from_slice(&document.body).ok()?;
                Some(SessionRecord { version: document.version, ..record })
            });
            Ok(Arc::new(record))
        };
        Ok((*self.cache.get(id, read).await?).clone())
    }

    async fn write(&self, id: IdHash, record: &SessionRecord, expect: Precondition) -> Result<()> {
        let body = serde_json::to_vec(record).map(Bytes::from);
        let body = body.map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let until = record.until();
        let written =
            self.store.put_document_until(COLLECTION, &key_of(id), body, expect, until).await;
        self.cache.forget(id);
        written.map(|_| ())
    }

    /// Records a use. A session that was ended on another node meanwhile stays ended.
    async fn note_use(&self, id: IdHash, record: &SessionRecord, now: Time) {
        if now.since(Time::from_micros(record.used_at_us)) < USE_PRECISION {
            return;
        }
        let used = SessionRecord { used_at_us: now.micros(), ..record.clone() };
        let written = self.write(id, &used, Precondition::Version(record.version)).await;
        if let Err(error) = written {
            tracing::debug!(%error, "the use of a session was not recorded");
        }
    }
}

impl Access {
    /// Starts a session and returns the value of its cookie. It is always a new one, so that nobody can plant
    /// an id before the login. `user` is the account of a user who logged in.
    pub async fn begin_session(&self, user: Option<&User>) -> Result<String, BeginSessionError> {
        let mut id = [0; ID_BYTES];
        rand::fill(&mut id).map_err(|_| BeginSessionError::NoRandom)?;
        let sessions = &self.sessions;
        let keys = sessions.ring.derive("dashboard sessions");
        let key = keys.newest();
        let kind = [u8::from(user.is_some())];
        let signed = [&kind[..], &key.to_be_bytes(), &id].concat();
        let tag = keys.tag(key, &self.signed_parts(&signed));
        let tag = tag.ok_or(BeginSessionError::NoRandom)?;
        let now = sessions.clock.now().micros();
        let user =
            user.map(|user| UserClaim { name: user.name.clone(), stamp: user.stamp().to_owned() });
        let record = SessionRecord { user, began_at_us: now, used_at_us: now, version: 0 };
        sessions.write(sha256(id), &record, Precondition::Nothing).await?;
        Ok(BASE64URL_NOPAD.encode(&[&signed[..], &tag].concat()))
    }

    /// Returns the session of a cookie, unless it has ended. It also ends when its account changes; the
    /// operator token's session ends when that token changes.
    pub async fn session(&self, cookie: SessionCookie) -> Result<Option<OperatorSession>> {
        let SessionCookie { id, csrf } = cookie;
        let (sessions, now) = (&self.sessions, self.sessions.clock.now());
        let found = sessions.read(id).await?;
        let Some(record) = found.filter(|record| now < record.until()) else { return Ok(None) };
        let Some(operator) = self.owner_of(&record).await? else { return Ok(None) };
        sessions.note_use(id, &record, now).await;
        Ok(Some(OperatorSession { id, csrf, operator, until: record.until() }))
    }

    /// Whether a session that was open still is. This does not count as a use. While the store is
    /// unavailable, it counts as open.
    pub async fn is_session_open(&self, session: &OperatorSession) -> bool {
        let now = self.sessions.clock.now();
        match self.sessions.read(session.id).await {
            Ok(Some(record)) => {
                now < record.until() && !matches!(self.owner_of(&record).await, Ok(None))
            }
            Ok(None) => false,
            Err(_) => now < session.until,
        }
    }

    pub async fn end_session(&self, session: &OperatorSession) -> Result<()> {
        let ended = self.sessions.store.delete_document(COLLECTION, &key_of(session.id)).await;
        self.sessions.cache.forget(session.id);
        ended.map(|_| ())
    }

    async fn owner_of(&self, record: &SessionRecord) -> Result<Option<Operator>> {
        let Some(UserClaim { name, stamp }) = &record.user else {
            return Ok(Some(Operator::authenticated()));
        };
        Ok(self.users.current(name, stamp).await?.map(|user| Operator::of_user(&user)))
    }

    /// Verifies a cookie; `None` if this gateway has not made it.
    pub fn session_cookie(&self, cookie: &str) -> Option<SessionCookie> {
        let bytes = BASE64URL_NOPAD.decode(cookie.as_bytes()).ok()?;
        let (signed, tag) = bytes.split_at_checked(1 + 4 + ID_BYTES)?;
        let (key, id) = signed.get(1..)?.split_first_chunk()?;
        let (ring, key) = (&self.sessions.ring, u32::from_be_bytes(*key));
        let parts = self.signed_parts(signed);
        if tag.len() != TAG_BYTES || !ring.derive("dashboard sessions").verify(key, &parts, tag) {
            return None;
        }
        let csrf = ring.derive("dashboard forms").tag(key, &[signed])?;
        Some(SessionCookie { id: sha256(id), csrf: BASE64URL_NOPAD.encode(&csrf) })
    }

    /// Returns the parts that the tag of a cookie covers. The operator token is one of them, so its owner's
    /// sessions end when it changes.
    fn signed_parts<'a>(&'a self, signed: &'a [u8]) -> Vec<&'a [u8]> {
        let is_user = signed.first() == Some(&1);
        if is_user { vec![signed] } else { vec![signed, self.admin.digest()] }
    }
}

fn key_of(id: IdHash) -> String {
    HEXLOWER.encode(&id)
}

#[cfg(test)]
mod tests;
