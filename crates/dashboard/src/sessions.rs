//! The sessions of people who are logged in. A browser has the id in a cookie; only its hash is kept here.

use std::{collections::HashMap, time::Duration};

use aws_lc_rs::{constant_time::verify_slices_are_equal, digest, rand};
use data_encoding::BASE64URL_NOPAD;
use gancho_access::Operator;
pub use gancho_access::Role;
use gancho_domain::Time;
use parking_lot::Mutex;

use crate::backend::Login;

/// A session ends when it was not used for this time.
pub const MAX_IDLE: Duration = Duration::from_secs(12 * 60 * 60);
/// A session ends after this time, however much it is used.
pub const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// With more sessions than this, the one that was not used for the longest time ends.
const MAX_SESSIONS: usize = 1_000;

pub(crate) type IdHash = [u8; 32];

#[derive(Default)]
pub struct Sessions(Mutex<HashMap<IdHash, Record>>);

struct Record {
    session: Session,
    flash: Option<Flash>,
    began_at: Time,
    used_at: Time,
}

/// Someone who is logged in.
#[derive(Clone)]
pub struct Session {
    id: IdHash,
    /// The token that each form of this session carries.
    pub csrf: String,
    pub role: Role,
    pub operator: Operator,
    /// Of the user's account, which ends the session when it changes; `None` for the operator token.
    pub stamp: Option<String>,
}

/// A message for the next page of a session.
#[derive(Debug, Clone)]
pub struct Flash {
    pub kind: FlashKind,
    /// Escaped HTML.
    pub html: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashKind {
    Done,
    Warning,
    Error,
}

impl FlashKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Warning => "warn",
            Self::Error => "error",
        }
    }

    pub const fn is_error(self) -> bool {
        matches!(self, Self::Error)
    }
}

#[derive(Debug)]
pub struct RandomError;

impl Sessions {
    /// Starts a session and returns its id for the cookie. It is always a new one, so that nobody can plant
    /// an id before the login.
    pub fn begin(&self, login: Login, now: Time) -> Result<String, RandomError> {
        let Login { operator, stamp } = login;
        let id = random()?;
        let role = operator.role();
        let session = Session { id: hash(&id), csrf: random()?, role, operator, stamp };
        let mut all = self.0.lock();
        all.retain(|_, record| record.is_alive(now));
        if all.len() >= MAX_SESSIONS
            && let Some(oldest) = all.values().min_by_key(|record| record.used_at)
        {
            let oldest = oldest.session.id;
            all.remove(&oldest);
        }
        let record = Record { session: session.clone(), flash: None, began_at: now, used_at: now };
        all.insert(session.id, record);
        Ok(id)
    }

    /// Returns the live session with this id.
    pub fn find(&self, id: &str, now: Time) -> Option<Session> {
        let mut all = self.0.lock();
        let key = hash(id);
        let record = all.get_mut(&key)?;
        if !record.is_alive(now) {
            all.remove(&key);
            return None;
        }
        record.used_at = record.used_at.max(now);
        Some(record.session.clone())
    }

    /// Whether a session goes on. Asking is not using it.
    pub fn is_open(&self, session: &Session, now: Time) -> bool {
        self.0.lock().get(&session.id).is_some_and(|record| record.is_alive(now))
    }

    pub fn end(&self, session: &Session) {
        self.0.lock().remove(&session.id);
    }

    /// Leaves a message for the next page.
    pub fn leave_flash(&self, session: &Session, flash: Flash) {
        if let Some(record) = self.0.lock().get_mut(&session.id) {
            record.flash = Some(flash);
        }
    }

    pub fn take_flash(&self, session: &Session) -> Option<Flash> {
        self.0.lock().get_mut(&session.id)?.flash.take()
    }
}

impl Record {
    fn is_alive(&self, now: Time) -> bool {
        now.since(self.used_at) < MAX_IDLE && now.since(self.began_at) < MAX_AGE
    }
}

impl Session {
    /// Whether a form carries the token of this session.
    pub fn has_csrf(&self, token: &str) -> bool {
        verify_slices_are_equal(self.csrf.as_bytes(), token.as_bytes()).is_ok()
    }
}

/// 256 random bits as text.
pub(crate) fn random() -> Result<String, RandomError> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

pub(crate) fn hash(id: &str) -> IdHash {
    let mut hash = IdHash::default();
    hash.copy_from_slice(digest::digest(&digest::SHA256, id.as_bytes()).as_ref());
    hash
}
