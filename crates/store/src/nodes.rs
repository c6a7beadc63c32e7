//! Membership. A leased delivery has the number of the node that holds it. A node proves that it is alive
//! with one heartbeat row, and no lock is held while a request is in flight.
//!
//! A number is never reused, so it is the fencing token too: once a dead node's deliveries have another
//! number, or none, nothing that the node settles is written.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use gancho_domain::{TenantId, Time};

use crate::Result;

/// One life of one process. A restarted process is another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub i64);

/// What a node reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeFacts {
    /// The version of the program.
    pub version: String,
    /// The roles of the node, separated by commas.
    pub roles: String,
    pub shared_settings: SharedSettings,
}

/// The settings that must be the same on all nodes: names, and fingerprints of their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedSettings {
    /// How the fingerprints were made. Only those made in the same way can be compared.
    pub made_by: String,
    pub settings: Vec<(String, String)>,
}

impl SharedSettings {
    /// Returns the names of settings that differ.
    pub fn differing<'a>(&'a self, other: &Self) -> Vec<&'a str> {
        if self.made_by != other.made_by {
            return Vec::new();
        }
        let differs = |(name, value): &&(String, String)| {
            other.settings.iter().any(|(named, other)| named == name && other != value)
        };
        self.settings.iter().filter(differs).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the settings as one line; empty if nothing is known.
    pub fn to_text(&self) -> String {
        let settings = self.settings.iter().map(|(name, value)| format!(";{name}={value}"));
        std::iter::once(self.made_by.clone()).chain(settings).collect()
    }

    pub fn from_text(text: &str) -> Self {
        let mut parts = text.split(';');
        let made_by = parts.next().unwrap_or_default().to_owned();
        let named = |part: &str| part.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        Self { made_by, settings: parts.filter_map(named).collect() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRecord {
    pub id: NodeId,
    pub name: String,
    /// Empty until the node has reported them.
    pub facts: NodeFacts,
    /// Whether it was declared dead.
    pub is_dead: bool,
    pub joined_at: Time,
    /// When it sent its last heartbeat.
    pub seen_at: Time,
    /// The number of deliveries that it holds.
    pub leases: u64,
    /// When the first of them became due.
    pub oldest_due_at: Option<Time>,
    /// How many of them each cell has, by its name. Empty in a store without cells.
    pub cells: Vec<(String, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RescueCounts {
    /// Nodes that were declared dead.
    pub nodes: u64,
    /// Deliveries that were taken from them, for others to claim.
    pub deliveries: u64,
    /// Deliveries that are now dead letters, because too many nodes died while they held them.
    pub given_up: u64,
}

/// How certain a node can be of a lease, apart from its own heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    Held,
    /// The database of the delivery has not answered for too long: release it.
    Doubtful,
    /// Another node may have taken it over: drop it.
    Lost,
}

/// Maximum nodes that may die while they hold a delivery before it is given up, because it may be what kills
/// them.
///
/// Only an attempt can kill, but a node that dies also holds many deliveries that merely wait. To note each
/// attempt before it begins would cost a write for every delivery, so that is done only for deliveries that
/// were lost [`SUSPECT_LEASES`] times. From there on only attempts count, so a delivery that merely waits is
/// never given up. A settlement, or a node that leaves, clears the count.
pub const MAX_LOST_LEASES: u32 = 20;

/// Leases lost in a row that make a delivery suspect: see [`crate::Claiming::note_attempt`].
pub const SUSPECT_LEASES: u32 = 3;

#[async_trait]
pub trait Nodes: Send + Sync + 'static {
    async fn join(&self, name: &str, now: Time) -> Result<NodeId>;

    /// Stores what a node reports about itself, for [`Nodes::nodes`].
    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()>;

    /// Returns at most `max` nodes: the living ones first, then those declared dead, both newest first. Nodes
    /// that left are not included.
    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>>;

    /// Returns the roles of every node that sent a heartbeat within this time, by the database's clock. Empty
    /// if nodes do not share the store.
    async fn living_roles(&self, silent_for: Duration) -> Result<Vec<String>> {
        let _ = silent_for;
        Ok(Vec::new())
    }

    /// Sends a heartbeat. Fails with [`crate::StoreError::Fenced`] once the node was declared dead. Stores
    /// that many nodes share use the database's clock, not `now`.
    async fn heartbeat(&self, node: NodeId, now: Time) -> Result<()>;

    /// Returns how certain the node can be of what it leased at `leased_at`, if it may rely on heartbeats
    /// that are no older than `trusted`. In a store with one part, the last heartbeat decides, which the
    /// caller knows.
    fn lease_status(
        &self,
        node: NodeId,
        tenant: TenantId,
        leased_at: Instant,
        trusted: Duration,
    ) -> LeaseStatus {
        let _ = (node, tenant, leased_at, trusted);
        LeaseStatus::Held
    }

    /// Notes that the node stops, and releases its leases.
    async fn leave(&self, node: NodeId, now: Time) -> Result<()>;

    /// Declares nodes dead that sent no heartbeat for `silent_for`, and takes over their deliveries.
    /// `caller` is never declared dead.
    async fn rescue(&self, caller: NodeId, silent_for: Duration, now: Time)
    -> Result<RescueCounts>;
}
