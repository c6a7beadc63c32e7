//! Which tenant lives in which cell. The directory is in the home cell; every node knows all of it by heart, looks for
//! changes every second, and goes on with what it knows while the home cell is away.
//!
//! A tenant without an entry lives in the home cell: that is where the sources of received webhooks are, and all
//! tenants from before there were cells.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_domain::TenantId;
use gancho_store::{Result, StoreError};
use gancho_store_postgres::{Placement, PlacementState, PostgresStore};
use parking_lot::{Mutex, RwLock};

use crate::{
    CellStore,
    cell::{Cell, HOME},
};

/// How long a tenant that has no entry is not asked for again.
const ABSENT_FOR: Duration = Duration::from_secs(1);
/// Ids without an entry that are remembered.
const MAX_ABSENT: usize = 10_000;
const BATCH: usize = 10_000;

#[derive(Default)]
pub(crate) struct Directory {
    known: RwLock<PlacementCache>,
    /// How often a cell or the place of a tenant has become known here that was not before.
    version: AtomicU64,
    /// When the reading began from which the cells are known. Held while they change.
    pub read_at: Mutex<Option<Instant>>,
    /// Held by a lookup that reads the directory, so that others wait for it.
    catching_up: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct PlacementCache {
    cells: HashMap<TenantId, u32>,
    /// Those that had no entry, and when.
    absent: HashMap<TenantId, Instant>,
    /// Those that are being moved, or are not removed from their old cell yet, and whether they are about to leave.
    moving: HashMap<TenantId, bool>,
    /// Those that were in another cell, and when this node learned that they are not.
    moved: HashMap<TenantId, Instant>,
    refreshed_at: Option<Instant>,
}

impl Directory {
    /// As far as is known here.
    pub fn known_cell(&self, tenant: TenantId) -> u32 {
        self.known.read().cells.get(&tenant).copied().unwrap_or(HOME)
    }

    fn lookup(&self, tenant: TenantId) -> Option<u32> {
        let known = self.known.read();
        let absent = || known.absent.get(&tenant).filter(|since| since.elapsed() < ABSENT_FOR);
        known.cells.get(&tenant).copied().or_else(|| absent().map(|_| HOME))
    }

    pub fn note(&self, placement: &Placement) {
        if self.known.write().note(placement) {
            self.note_change();
        }
    }

    /// Changes whenever this node learns something of the directory.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn note_change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the tenant is about to leave its cell: nothing of it is leased any more.
    pub fn is_leaving(&self, tenant: TenantId) -> bool {
        self.known.read().moving.get(&tenant).copied().unwrap_or(false)
    }

    /// Whether rows of the tenant in this cell are not the tenant's: it is on its way here, or lives elsewhere by now.
    pub fn is_elsewhere(&self, tenant: TenantId, cell: u32) -> bool {
        let known = self.known.read();
        known.moving.contains_key(&tenant) && known.cells.get(&tenant) != Some(&cell)
    }

    /// When this node learned that the tenant lives in another cell than before.
    pub fn moved_at(&self, tenant: TenantId) -> Option<Instant> {
        self.known.read().moved.get(&tenant).copied()
    }

    /// Whether what was claimed in this cell since then is not to be carried: the tenant lives in another, or has moved
    /// meanwhile, perhaps away and back.
    pub fn has_left(&self, tenant: TenantId, cell: u32, since: Instant) -> bool {
        let known = self.known.read();
        known.cells.get(&tenant).is_some_and(|lives_in| *lives_in != cell)
            || known.moved.get(&tenant).is_some_and(|at| *at > since)
    }

    /// Tenants of which nothing may be claimed in this cell: those that leave, live elsewhere, or have moved since then.
    pub fn not_to_claim(&self, cell: u32, since: Instant) -> Vec<TenantId> {
        let known = self.known.read();
        let is_barred = |(tenant, leaves): (&TenantId, &bool)| {
            (*leaves || known.cells.get(tenant) != Some(&cell)).then_some(*tenant)
        };
        let has_moved = |(tenant, at): (&TenantId, &Instant)| (*at > since).then_some(*tenant);
        let moving = known.moving.iter().filter_map(is_barred);
        moving.chain(known.moved.iter().filter_map(has_moved)).collect()
    }

    fn note_absent(&self, tenant: TenantId) {
        let mut known = self.known.write();
        if known.absent.len() >= MAX_ABSENT {
            known.absent.retain(|_, since| since.elapsed() < ABSENT_FOR);
        }
        known.absent.insert(tenant, Instant::now());
    }

    pub fn forget(&self, tenant: TenantId) {
        self.known.write().cells.remove(&tenant);
    }

    /// Reads all of it.
    pub async fn load(&self, home: &PostgresStore) -> Result<()> {
        let at = Instant::now();
        let mut after = None;
        loop {
            let batch = home.placements(after, BATCH).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.tenant);
            let mut known = self.known.write();
            let mut changes = 0;
            for one in &batch {
                changes += u64::from(known.note(one));
            }
            drop(known);
            self.version.fetch_add(changes, Ordering::AcqRel);
        }
        self.known.write().refreshed_at = Some(at);
        Ok(())
    }

    /// Reads what has changed since the last time.
    pub async fn refresh(&self, home: &PostgresStore) -> Result<()> {
        let last = self.known.read().refreshed_at;
        let Some(last) = last else { return self.load(home).await };
        let at = Instant::now();
        for placement in home.changed_placements(at.duration_since(last)).await? {
            self.note(&placement);
        }
        self.known.write().refreshed_at = Some(at);
        Ok(())
    }
}

impl PlacementCache {
    /// Returns whether this is news.
    fn note(&mut self, placement: &Placement) -> bool {
        let (tenant, cell, state) = (placement.tenant, placement.cell, placement.state);
        self.absent.remove(&tenant);
        let before = self.cells.insert(tenant, cell);
        if before.is_some_and(|before| before != cell) {
            self.moved.insert(tenant, Instant::now());
        }
        match state {
            PlacementState::Moving => _ = self.moving.insert(tenant, false),
            PlacementState::Leaving => _ = self.moving.insert(tenant, true),
            PlacementState::Creating | PlacementState::Active | PlacementState::Deleted => {
                self.moving.remove(&tenant);
            }
        }
        before != Some(cell)
    }
}

impl CellStore {
    /// The cell of a tenant.
    pub(crate) async fn cell_of(&self, tenant: TenantId) -> Result<Arc<Cell>> {
        if self.is_alone() {
            return Ok(self.home.clone());
        }
        let number = match self.directory.lookup(tenant) {
            Some(number) => number,
            // Boxed, so that the futures of all callers stay small: few of them look it up.
            None => Box::pin(self.look_up(tenant)).await?,
        };
        self.cell(number)
    }

    /// Another node may have created it a moment ago.
    async fn look_up(&self, tenant: TenantId) -> Result<u32> {
        let home = self.home.store()?;
        let Some(placement) = self.home.bounded(home.placement(tenant)).await? else {
            self.directory.note_absent(tenant);
            return Ok(HOME);
        };
        self.directory.note(&placement);
        Ok(placement.cell)
    }

    /// Reads the directory, unless a reading has begun since then. Many lookups at once wait for one reading.
    pub(crate) async fn catch_up(&self, since: Instant) -> Result<()> {
        let _one = self.directory.catching_up.lock().await;
        let read_at = *self.directory.read_at.lock();
        if read_at.is_none_or(|at| at < since) {
            self.home.store()?;
            self.refresh_once().await?;
        }
        Ok(())
    }

    /// The name of the cell where a tenant lives, as far as this node knows.
    pub fn cell_name(&self, tenant: TenantId) -> Option<String> {
        Some(self.cell(self.directory.known_cell(tenant)).ok()?.name.clone())
    }

    /// The cell with this number.
    pub(crate) fn cell(&self, number: u32) -> Result<Arc<Cell>> {
        let cells = self.cells();
        let found = cells.iter().find(|cell| cell.number == number);
        found.cloned().ok_or_else(|| {
            StoreError::Unavailable(format!("this node does not know cell number {number} yet"))
        })
    }

    /// The cell for a new tenant: of those that take any, the one with the fewest.
    pub(crate) async fn cell_for_new(&self) -> Result<Arc<Cell>> {
        let home = self.home.store()?;
        let counts: HashMap<u32, u64> =
            self.home.call(home.tenants_per_cell()).await?.into_iter().collect();
        let cells = self.cells();
        let open = cells.iter().filter(|cell| cell.takes_tenants());
        let fewest =
            open.min_by_key(|cell| (counts.get(&cell.number).copied().unwrap_or(0), cell.number));
        fewest
            .cloned()
            .ok_or_else(|| StoreError::Unavailable("no cell takes new tenants now".into()))
    }

    /// Creating and deleting change the directory first here, then on other nodes. Returns whether the tenant was in the state
    /// `from`: if not, it has been moved or deleted meanwhile, and its placement stays.
    pub(crate) async fn place(&self, placement: Placement, from: PlacementState) -> Result<bool> {
        let home = self.home.store()?;
        let is_changed = self.home.call(home.change_placement(&placement, from)).await?;
        if is_changed {
            self.directory.note(&placement);
        } else if let Some(found) = self.home.bounded(home.placement(placement.tenant)).await? {
            self.directory.note(&found);
        }
        Ok(is_changed)
    }
}

/// A tenant that was created, or deleted.
pub(crate) fn placed(
    tenant: TenantId,
    slug: &str,
    cell: &Cell,
    state: PlacementState,
) -> Placement {
    Placement { tenant, slug: slug.to_owned(), cell: cell.number, state }
}
