//! The suite that every store must pass, so that a method behaves the same in each of them.
//!
//! A store provides a [`Fixture`] and calls [`crate::conformance_suite!`] with it in one of its tests: every
//! case becomes a test. The files mirror the contract's. Parts of long ones have their own files: [`rounds`],
//! [`lease`] and [`lease_lost`] belong to claiming and settling, [`replay`] to dead letters, [`retry_now`],
//! [`events`], [`lists`], [`text_search`], [`all_tenants`], [`redeliver`] and [`isolation`] to deliveries,
//! [`prune`], [`growth`] and [`expire`] to upkeep, [`withheld`] to accepting, [`statistics_upkeep`] to
//! statistics. `suite` lists the cases, and [`build`] has their helpers.
//!
//! A case knows only the contract of a store. It asserts what the contract promises and leaves open what the
//! contract leaves open.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use gancho_domain::TenantId;

use crate::Store;

pub mod accept;
pub mod all_tenants;
pub mod archiving;
pub mod audit;
pub mod bell;
pub mod build;
pub mod bytes;
pub mod claim;
pub mod crowd;
pub mod dead_letters;
pub mod deliveries;
pub mod documents;
pub mod email_reports;
pub mod endpoints;
pub mod erasure;
pub mod events;
pub mod expire;
pub mod fairness;
pub mod fan_out;
pub mod growth;
pub mod import;
pub mod isolation;
pub mod lease;
pub mod lease_lost;
pub mod ledger;
pub mod lists;
pub mod long_order;
pub mod nodes;
pub mod numbers;
pub mod once;
pub mod order;
pub mod orphans;
pub mod pauses;
pub mod prune;
pub mod redeliver;
pub mod replay;
pub mod replays;
pub mod retry_now;
pub mod rounds;
pub mod settle;
pub mod statistics;
pub mod statistics_upkeep;
mod suite;
pub mod suppressions;
pub mod tenants;
pub mod text_search;
pub mod upkeep;
pub mod usage;
pub mod withheld;

/// Opens a store for a case.
#[allow(async_fn_in_trait)] // A case runs where it is called, so its future need not be `Send`.
pub trait Fixture: Sized + Send + Sync {
    /// Approximate number of rows that a page of a list scans. Small, so that a case can have many more.
    const MAX_SCANNED: usize;

    /// Opens an empty store that no other case sees.
    async fn open() -> Self;

    fn store(&self) -> Arc<dyn Store>;

    /// Whether one round of claims visits both tenants. In a store that consists of several, each has its own
    /// round.
    fn share_a_round(&self, one: TenantId, other: TenantId) -> bool {
        let _ = (one, other);
        true
    }

    /// Opens the same data again, as after a restart of the process. No other process holds the store then.
    async fn reopen(self) -> Self;
}

#[cfg(test)]
mod tests;
