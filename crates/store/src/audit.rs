//! The audit log: who changed what, or tried to. Entries are appended and never changed; each goes when its
//! time is over.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Id, TenantId, Time, id::Kind};

use crate::{Page, PageRequest, Result};

pub enum OfAudit {}

impl Kind for OfAudit {
    const PREFIX: &'static str = "aud";
}

/// The time of an entry is that of its id.
pub type AuditId = Id<OfAudit>;

/// What kind of caller acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// The operator token.
    Operator,
    /// A person with an account, named by it.
    User,
    /// A tenant's API key, named by its id.
    ApiKey,
    /// A link to the customer portal.
    Portal,
    /// Someone who failed to log in.
    Anonymous,
}

impl ActorKind {
    pub const ALL: [Self; 5] =
        [Self::Operator, Self::User, Self::ApiKey, Self::Portal, Self::Anonymous];
    pub const NAMES: &'static [&'static str] =
        &["operator", "user", "api_key", "portal", "anonymous"];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ActorKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("unknown kind of actor `{name}`"))
    }
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Actor {
    pub kind: ActorKind,
    /// The name of a user or the id of a key; empty for the other kinds.
    pub name: String,
}

impl Actor {
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

/// An act. It holds no secret, and of the body of a request only the reason that a person gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: AuditId,
    pub actor: Actor,
    /// Whose data it was about; nobody's where it was the operator's.
    pub tenant: Option<TenantId>,
    /// The id of an operation of the API, or `log_in`.
    pub operation: String,
    /// The id or name of what was changed; empty if there is none.
    pub resource: String,
    /// The HTTP status of the response.
    pub status: u16,
    /// The code of the problem; empty for what was done.
    pub code: String,
    pub request_id: String,
    /// The address or block of addresses that the caller called from; empty if it is not known.
    pub address: String,
    /// Why it was done, in the words of the actor; empty if none were given. Never logged.
    pub reason: String,
}

impl AuditEntry {
    pub fn at(&self) -> Time {
        self.id.time()
    }

    pub fn is_done(&self) -> bool {
        self.code.is_empty()
    }
}

/// Which entries to list: those for which all that is set holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    pub tenant: Option<TenantId>,
    pub actor_kind: Option<ActorKind>,
    /// The name of the actor.
    pub actor: Option<String>,
    pub operation: Option<String>,
    pub resource: Option<String>,
    /// Whether it was done, or refused.
    pub is_done: Option<bool>,
    /// At or after this time, in milliseconds,
    pub since: Option<Time>,
    /// and before.
    pub until: Option<Time>,
}

impl AuditFilter {
    /// The ids that entries of these times have: from the first on and before the second.
    pub fn ids(&self) -> (AuditId, AuditId) {
        let first = |time: Time| AuditId::from_bits((time.millis().max(0) as u128) << 80);
        let end = AuditId::from_bits(u128::MAX);
        (self.since.map_or(AuditId::from_bits(0), first), self.until.map_or(end, first))
    }
}

/// The place of an entry in a list.
pub fn place_of(id: AuditId) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

/// The entry at a place.
pub fn id_at(place: &[u8; 32]) -> AuditId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    AuditId::from_bytes(bytes)
}

#[async_trait]
pub trait AuditLog: Send + Sync + 'static {
    /// Appends entries, each of which is removed after `retention`. An entry that is there already stays.
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()>;

    /// A page of the log, in the order of ids.
    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>>;
}
