//! The store for many nodes: PostgreSQL 15 or later.
//!
//! In reading order: [`open`] connects by the [`database_url`], checks the server, finds the [`schema`] and
//! runs [`migrations`]; [`session`] sets up every connection, with or without a [`pooler`] in between, to the
//! primary or a [`replica`], and [`tls`] secures it. Callers wait in the [`queue`], from which a
//! [`committer`] gathers the writes of many of them into one transaction; [`batch`] runs it, by the
//! [`commit_rules`], in the steps of [`accept`] and [`settle`], with [`idempotency`] for keys and
//! [`expiry_time`] for their end, [`order`] for strict order per subject, [`withhold`] for parcels that are
//! accepted but not sent, [`intake`] for what `gancho.publish` has stored (installed by
//! [`publish_function`]), and [`give_up`] for dead letters without an attempt. [`claim`] leases due
//! deliveries by the plan of [`walk`] and [`claim_plan`]; [`orphaned_leases`] tracks deliveries that were leased
//! without their node knowing. Lists are found by a bounded [`scan`]. [`dead_letters`] and [`archiving`],
//! [`audit`], [`deliveries`] with [`delivery_list`], [`events`] and [`redeliver`], [`endpoints`], [`nodes`],
//! [`orphans`], [`pauses`], [`documents`], [`replays`], [`email_reports`], [`statistics`], [`suppressions`],
//! [`tenants`], [`upkeep`] with [`prune`] and its [`pass`]es, and [`usage`] are the rest of the contract.
//! [`listen`] carries the bell between nodes; [`rows`] and [`where_clause`] convert between rows and types of
//! the domain; [`tx_error`] turns an error of the database into a store error. [`directory`] says which
//! tenant lives in which cell, for a store that consists of several of these, and [`moves`] moves a tenant
//! from one to another. [`scratch`] creates and removes a database for one run.
//!
//! This crate never returns `Ok` for something that is not committed, and never returns an error for
//! something that is: if the answer to a commit is lost, it finds out. It holds no lock and no transaction
//! between two calls. No other crate contains SQL for PostgreSQL.

mod accept;
mod all_tenants;
mod archiving;
mod audit;
mod batch;
mod claim;
mod claim_plan;
mod commit_rules;
mod committer;
mod database_url;
mod dead_letters;
mod deliveries;
mod delivery_list;
mod directory;
mod documents;
mod email_reports;
mod endpoints;
mod erasure;
mod events;
mod expiry_time;
mod give_up;
mod idempotency;
mod import;
mod intake;
mod ledger;
#[cfg(test)]
mod list_cost;
mod listen;
mod migrations;
mod moves;
mod nodes;
mod open;
mod order;
mod orphaned_leases;
mod orphans;
mod pass;
mod pauses;
#[cfg(test)]
mod plans;
mod pooler;
mod prune;
mod publish_function;
mod queue;
mod redeliver;
mod replays;
mod replica;
mod retry;
mod rows;
mod scan;
mod schema;
mod scratch;
mod session;
mod settle;
mod statistics;
mod suppressions;
mod tenants;
mod time_buckets;
mod tls;
mod tx_error;
mod upkeep;
mod usage;
mod walk;
mod where_clause;
mod withhold;
mod writable;

use std::{sync::Arc, time::Duration};

use gancho_store::{Account, Result, Store, states};
use tokio::sync::Notify;
use tokio_util::sync::DropGuard;

pub use directory::{CellRow, CellState, Placement, PlacementState, Reservation};
pub use migrations::{SCHEMA_VERSION, schema_version};
pub use moves::{CopiedRows, MOVED_TABLES, MoveRow, MoveStep, MovedTable};
pub use open::Options;
pub use scratch::ScratchDatabase;
pub use writable::{check_may_create, check_writable};

use crate::session::{Session, SessionPool, Turns};

/// The store. Any number of these, in any number of processes, may share one database.
pub struct PostgresStore {
    /// For everything that the committers do not gather and that is not named below.
    pool: SessionPool,
    /// For calls that tenants and unauthenticated callers cause, each on its account.
    turns: Arc<Turns>,
    /// For claims and what attempts need, so that they queue behind no tenant.
    engine: SessionPool,
    /// For tenants' lists alone, so that nothing else queues behind them.
    lists: Arc<Turns>,
    /// For the gateway's own counts and searches, which may take long.
    upkeep: SessionPool,
    /// For heartbeats alone, so that they queue behind nothing.
    lifeline: SessionPool,
    committers: queue::Queue,
    bells: Arc<listen::Bells>,
    orphaned_leases: Arc<orphaned_leases::OrphanedLeases>,
    max_scanned: usize,
    dead_letter_ttl: Duration,
    over: expiry_time::ExpiryTime,
    passes: prune::Passes,
    /// The same store with lists from a replica.
    reader: Option<Arc<PostgresStore>>,
    /// Ends the tasks of this store when it is dropped.
    until_dropped: Arc<DropGuard>,
}

impl PostgresStore {
    /// Returns a session for the gateway's own work, of which there is little at a time.
    async fn session(&self) -> Result<Session> {
        self.pool.get().await
    }

    /// Returns a session on the account of a tenant, of all calls without a tenant, or of unauthenticated
    /// callers. However many calls an account makes, and however long they wait for each other's locks, they
    /// leave sessions to others.
    async fn session_of(&self, account: impl Into<Account>) -> Result<Session> {
        self.turns.next(account).await
    }

    async fn engine_session(&self) -> Result<Session> {
        self.engine.get().await
    }

    /// Returns the same store for lists and statistics that may be some seconds old: from a replica, if one
    /// is configured. Calls that must see the caller's own writes read from the store itself.
    pub fn reader(&self) -> Option<Arc<Self>> {
        self.reader.clone()
    }

    async fn upkeep_session(&self) -> Result<Session> {
        self.upkeep.get().await
    }
}

impl Store for PostgresStore {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn bell(&self) -> Arc<Notify> {
        self.bells.here()
    }
}
