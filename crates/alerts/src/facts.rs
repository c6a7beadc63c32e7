//! What the rules look at, for all nodes together.

use std::{collections::HashSet, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Lane, Time};
use gancho_store::Result;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Dead letters in the store.
    pub dead_letters: u64,
    /// Dead letters of the tenants and partners with the most, by name.
    pub dead_letters_by_tenant: Vec<(String, u64)>,
    /// Deliveries that ended in the last hour,
    pub ended: u64,
    /// and how many of them became dead letters.
    pub died: u64,
    /// How full the store is, from 0 to 1; `None` if it has no limit.
    pub store_share: Option<f64>,
    /// How full the disk of the data directory is, where the store is on it.
    pub disk_share: Option<f64>,
    /// Databases that do not respond, of several.
    pub unavailable_cells: Vec<String>,
    /// How long the oldest delivery of each lane has been due.
    pub queue_ages: Vec<(Lane, Duration)>,
    /// Endpoints of which every attempt of the last minutes failed.
    pub failing_endpoints: Vec<FailingEndpoint>,
    /// Those beyond the ones that are listed.
    pub more_failing_endpoints: u64,
    /// Active sources that have no valid key, or soon will have none.
    pub keyless_sources: Vec<KeylessSource>,
    /// API keys that no other key replaces when they end.
    pub expiring_api_keys: Vec<ExpiringApiKey>,
    pub nodes: Vec<NodeReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingEndpoint {
    /// The tenant or partner.
    pub tenant: String,
    /// Its id; of a partner's target, the partner and the id: `acme/wh_...`.
    pub endpoint: String,
    /// The host of its URL.
    pub host: String,
    pub failed_attempts: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeylessSource {
    pub partner: String,
    /// The last key before it has none, and when that key ends or ended; nothing if there was none.
    pub last_key: Option<(String, Time)>,
    /// Whether it has none already.
    pub is_refusing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiringApiKey {
    pub tenant: String,
    pub id: String,
    pub ends_at: Time,
}

/// What one node knows that the store does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    pub name: String,
    /// Events, webhooks and e-mails that it could not accept in the last minutes.
    pub refused_writes: u64,
    /// Other nodes that it declared dead in the last minutes.
    pub lost_nodes: u64,
    /// Their names, as far as they are known.
    pub lost_names: Vec<String>,
    /// Its clock jumped, or disagrees with the store.
    pub is_clock_off: bool,
    /// Why the ledger is not signed any more.
    pub ledger_error: Option<String>,
    /// It has not verified the ledger since it started.
    pub is_ledger_unchecked: bool,
    /// Why dead letters stay in the store that are due to be archived.
    pub archive_error: Option<String>,
}

#[async_trait]
pub trait FactSource: Send + Sync + 'static {
    /// Everything but the reports of nodes. Endpoints that are reported as failing are listed before others, so
    /// that none of them is resolved because too many fail.
    async fn read(&self, reported_endpoints: HashSet<String>) -> Result<Facts>;

    /// The report of this node, from memory.
    fn report(&self) -> NodeReport;
}
