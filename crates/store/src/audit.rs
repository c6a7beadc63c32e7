//! The audit log: who changed what, or tried to. Entries are appended, never changed, and removed after their
//! retention.

use std::{fmt, str::FromStr, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Id, TenantId, Time, id::IdKind};

use crate::{Page, PageRequest, Result};

pub enum AuditIdKind {}

impl IdKind for AuditIdKind {
    const PREFIX: &'static str = "aud";
}

/// The id of an entry, which also has its time.
pub type AuditId = Id<AuditIdKind>;

/// What kind of caller acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// The operator token.
    Operator,
    /// A user, whose name is recorded.
    User,
    /// A tenant's API key, whose id is recorded.
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

/// One action. It contains no secret, and of the body of a request only the reason that a person gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: AuditId,
    pub actor: Actor,
    /// The tenant whose data it was about; `None` for the operator's.
    pub tenant: Option<TenantId>,
    /// The id of an operation of the API, or `log_in`.
    pub operation: String,
    /// The id or name of what was changed; empty if there is none.
    pub resource: String,
    /// The HTTP status of the response.
    pub status: u16,
    /// The error code of the problem; empty if it was done.
    pub code: String,
    pub request_id: String,
    /// The address or block of addresses that the caller called from; empty if it is not known.
    pub address: String,
    /// The reason that the actor gave; empty if none. Never logged.
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

/// Selects entries that match everything that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    pub tenant: Option<TenantId>,
    pub actor_kind: Option<ActorKind>,
    /// The name of the actor.
    pub actor: Option<String>,
    pub operation: Option<String>,
    pub resource: Option<String>,
    /// Whether it was done or refused.
    pub is_done: Option<bool>,
    /// Entries at or after this time, in milliseconds.
    pub since: Option<Time>,
    /// Entries before this time.
    pub until: Option<Time>,
}

impl AuditFilter {
    /// Returns the range of ids of entries in this period: from the first one, up to but not including the
    /// second.
    pub fn ids(&self) -> (AuditId, AuditId) {
        let first = |time: Time| AuditId::from_bits((time.millis().max(0) as u128) << 80);
        let end = AuditId::from_bits(u128::MAX);
        (self.since.map_or(AuditId::from_bits(0), first), self.until.map_or(end, first))
    }
}

/// Returns the position of an entry in a list.
pub fn place_of(id: AuditId) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

/// Returns the id of the entry at a position.
pub fn id_at(place: &[u8; 32]) -> AuditId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    AuditId::from_bytes(bytes)
}

#[async_trait]
pub trait AuditLog: Send + Sync + 'static {
    /// Appends entries, each of which is removed after `retention`. An existing entry stays unchanged.
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()>;

    /// Returns a page of the log, in the order of ids.
    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>>;
}
