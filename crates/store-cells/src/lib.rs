//! A store made of stores: several PostgreSQL databases, the *cells*, each with the tables and the SQL of
//! `store-postgres`. Every tenant lives in one of them, and one, the *home cell*, has the directory and all that
//! belongs to no tenant.
//!
//! In reading order: [`cell`] is one database, and whether it answers; [`directory`] says which tenant lives
//! where; [`open`] opens the cells that the directory names, and refuses those that do not belong here, by their
//! [`identity`], and [`watch`] does so again; [`members`] is a node's membership in each cell. [`spread`] asks several cells at once, and
//! [`merge`] makes one page of theirs. Then the contract, in the files of its names: what is a tenant's goes to
//! its cell ([`scoped`]), what is the gateway's to the home cell ([`fleet`]); [`accept`], [`claim`] (with [`late_claims`]),
//! [`settle`], [`nodes`], [`tenants`], [`documents`], [`dead_letters`], [`archiving`], [`all_tenants`], [`intake`],
//! [`pauses`], [`replays`], [`statistics`], [`orphans`] and [`upkeep`] have to do with several.
//!
//! [`moves`] moves a tenant from one cell to another: a node carries it out in [`move_runs`], by the steps of [`mover`].
//!
//! This crate holds no SQL. It writes nothing in two cells that would have to be in one transaction.

mod accept;
mod all_tenants;
mod archiving;
mod cell;
mod claim;
mod dead_letters;
mod directory;
mod documents;
mod fleet;
mod identity;
mod intake;
mod late_claims;
mod members;
mod merge;
mod move_runs;
mod mover;
mod moves;
mod nodes;
mod open;
mod orphans;
mod pauses;
mod replays;
mod scoped;
mod settle;
mod spread;
mod statistics;
mod tenants;
mod upkeep;
mod watch;

use std::{collections::HashMap, sync::Arc};

use gancho_domain::TenantId;
use gancho_store::{Pause, Store};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{cell::Cell, directory::Directory, members::Members};
pub use crate::{
    cell::{HOME, HOME_NAME},
    identity::of_url,
    moves::{MovePoint, MoveRules, MoveStatus},
    open::{CellSecrets, CellSetup, CellStatus},
};
pub use gancho_store_postgres::{MoveStep, Placement, PlacementState};

pub struct CellStore {
    home: Arc<Cell>,
    /// The home cell first.
    all: RwLock<Arc<Vec<Arc<Cell>>>>,
    directory: Directory,
    members: Members,
    bell: Arc<Notify>,
    intake_bell: Arc<Notify>,
    /// Where documents were found that are looked for by their key alone.
    document_cells: Mutex<HashMap<(&'static str, String), u32>>,
    /// The last answer of each cell.
    pauses: Mutex<HashMap<u32, Vec<Pause>>>,
    intake: intake::IntakeState,
    deferred: statistics::DeferredRows,
    late_claims: late_claims::LateClaims,
    /// How often in a row the moves that this node has carried out have failed.
    move_failures: Mutex<HashMap<TenantId, u32>>,
    /// Moves that this node carries out, and whether they copy.
    moves_under_way: Mutex<HashMap<TenantId, bool>>,
    setup: CellSetup,
    tasks: TaskTracker,
    /// Ends the tasks of this store with it.
    stopping: CancellationToken,
}

impl CellStore {
    fn cells(&self) -> Arc<Vec<Arc<Cell>>> {
        self.all.read().clone()
    }

    /// Whether the home cell is the only one.
    pub fn is_alone(&self) -> bool {
        self.all.read().len() == 1
    }
}

impl Drop for CellStore {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

impl Store for CellStore {
    fn name(&self) -> &'static str {
        if self.is_alone() { "postgres" } else { "cells" }
    }

    fn shard(&self, tenant: TenantId) -> Option<u32> {
        (!self.is_alone()).then(|| self.directory.known_cell(tenant))
    }

    fn bell(&self) -> Arc<Notify> {
        self.bell.clone()
    }
}

/// A lookup or a write for one tenant, in its cell.
macro_rules! in_cell {
    ($self:ident, $tenant:expr, |$store:ident| $call:expr) => {{
        let cell = $self.cell_of($tenant).await?;
        let $store = cell.store()?;
        cell.call($call).await
    }};
}
pub(crate) use in_cell;

/// A list, or a step of upkeep, which may take longer.
macro_rules! long_in_cell {
    ($self:ident, $tenant:expr, |$store:ident| $call:expr) => {{
        let cell = $self.cell_of($tenant).await?;
        let $store = cell.store()?;
        cell.long($call).await
    }};
}
pub(crate) use long_in_cell;

/// A lookup or a write in the home cell.
macro_rules! at_home {
    ($self:ident, |$store:ident| $call:expr) => {{
        let $store = $self.home.store()?;
        $self.home.call($call).await
    }};
}
pub(crate) use at_home;

/// A list in the home cell, which may take longer.
macro_rules! long_at_home {
    ($self:ident, |$store:ident| $call:expr) => {{
        let $store = $self.home.store()?;
        $self.home.long($call).await
    }};
}
pub(crate) use long_at_home;
