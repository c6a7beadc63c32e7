//! The facts that the rules are evaluated on, for all nodes together.

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
    /// Deliveries that ended in the last hour.
    pub ended: u64,
    /// How many of them became dead letters.
    pub died: u64,
    /// How full the store is, from 0 to 1; `None` if it has no limit.
    pub store_share: Option<f64>,
    /// How full the disk of the data directory is, if the store is on it.
    pub disk_share: Option<f64>,
    /// The databases that do not respond, if there are several.
    pub unavailable_cells: Vec<String>,
    /// How long the oldest delivery of each lane has been due.
    pub queue_ages: Vec<(Lane, Duration)>,
    /// Endpoints whose attempts all failed in the last minutes.
    pub failing_endpoints: Vec<FailingEndpoint>,
    /// How many more there are than the listed ones.
    pub more_failing_endpoints: u64,
    /// Active sources that have no valid key, or soon will have none.
    pub keyless_sources: Vec<KeylessSource>,
    /// API keys that expire soon and that no other key replaces.
    pub expiring_api_keys: Vec<ExpiringApiKey>,
    pub nodes: Vec<NodeReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingEndpoint {
    /// The tenant or partner.
    pub tenant: String,
    /// The id of the endpoint; for a partner's target, the partner and the id: `acme/wh_...`.
    pub endpoint: String,
    /// The host of its URL.
    pub host: String,
    pub failed_attempts: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeylessSource {
    pub partner: String,
    /// The last valid key, and when it ends or ended; `None` if there was none.
    pub last_key: Option<(String, Time)>,
    /// Whether it has no valid key already.
    pub is_refusing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiringApiKey {
    pub tenant: String,
    pub id: String,
    pub ends_at: Time,
}

/// What a node knows that is not in the store.
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
    /// Whether its clock jumped, or disagrees with the store.
    pub is_clock_off: bool,
    /// Why the ledger is not signed any more.
    pub ledger_error: Option<String>,
    /// Whether it has not verified the ledger since its start.
    pub is_ledger_unchecked: bool,
    /// Why dead letters stay in the store that must be archived.
    pub archive_error: Option<String>,
}

#[async_trait]
pub trait FactSource: Send + Sync + 'static {
    /// Reads everything but the reports of nodes. Lists endpoints in `reported_endpoints` before others, so
    /// that none of their alerts is resolved because too many endpoints fail.
    async fn read(&self, reported_endpoints: HashSet<String>) -> Result<Facts>;

    /// Returns the report of this node, from memory.
    fn report(&self) -> NodeReport;
}
