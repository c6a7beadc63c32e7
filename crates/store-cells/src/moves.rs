//! Moving a tenant to another cell: beginning, taking back and looking on. The work is done by whichever node takes it
//! ([`mover`](crate::mover)): every second each looks for moves that nobody carries out.

use std::{sync::Arc, time::Duration};

use gancho_domain::TenantId;
use gancho_store::{Result, StoreError};
use gancho_store_postgres::{CellState, MoveRow, MoveStep, PlacementState};

use crate::{CellStore, cell::Cell};

/// Tenants that a node copies at once.
const MAX_COPYING: usize = 2;

/// How long a move waits for what.
#[derive(Clone)]
pub struct MoveRules {
    /// Until all nodes know what the directory says.
    pub announce: Duration,
    /// For attempts that have begun, before the tenant leaves. It is longer than any that an endpoint may take. What has not
    /// ended by then, because its node is away, is attempted again in the new cell.
    pub drain: Duration,
    /// For transactions that have begun, while nothing can be written. After that they go on, and it is tried again.
    pub close: Duration,
    /// Before the tenant is removed from the old cell, for those who still read there.
    pub linger: Duration,
    /// How long after the last sign of a node another takes over.
    pub lease: Duration,
    /// Changes that are copied in one transaction. One that comes several times in it is copied once. A tenant that always has more
    /// left is not closed.
    pub changes: usize,
    /// For tests: whether the node dies at a point.
    pub dies_at: Option<Arc<dyn Fn(MovePoint) -> bool + Send + Sync>>,
}

impl Default for MoveRules {
    fn default() -> Self {
        Self {
            announce: Duration::from_millis(1500),
            drain: Duration::from_secs(75),
            close: Duration::from_millis(700),
            linger: Duration::from_secs(3),
            lease: Duration::from_secs(5),
            changes: 2000,
            dies_at: None,
        }
    }
}

/// Where a move can be interrupted so that the node that goes on finds something different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MovePoint {
    Begun,
    ArrivalGuarded,
    DepartureGuarded,
    PartCopied,
    AllCopied,
    ChangesCopied,
    CaughtUp,
    Announced,
    Closed,
    LastChangesCopied,
    RestCopied,
    Switched,
    Opened,
    PartRemoved,
    AllRemoved,
    MarkedLeft,
    Reopened,
    CopyPartRemoved,
    CopyRemoved,
}

impl MovePoint {
    /// On the way to the new cell.
    pub const FORWARD: [Self; 16] = [
        Self::Begun,
        Self::ArrivalGuarded,
        Self::DepartureGuarded,
        Self::PartCopied,
        Self::AllCopied,
        Self::ChangesCopied,
        Self::CaughtUp,
        Self::Announced,
        Self::Closed,
        Self::LastChangesCopied,
        Self::RestCopied,
        Self::Switched,
        Self::Opened,
        Self::PartRemoved,
        Self::AllRemoved,
        Self::MarkedLeft,
    ];
    /// On the way back.
    pub const BACK: [Self; 3] = [Self::Reopened, Self::CopyPartRemoved, Self::CopyRemoved];

    /// Whether the tenant lives in the new cell at this point.
    pub const fn is_after_switch(self) -> bool {
        matches!(
            self,
            Self::Switched | Self::Opened | Self::PartRemoved | Self::AllRemoved | Self::MarkedLeft
        )
    }
}

/// A move, as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveStatus {
    /// The names of the cells.
    pub from: String,
    pub to: String,
    pub step: MoveStep,
    pub copied_rows: u64,
    pub removed_rows: u64,
    /// How long nothing could be written for the tenant.
    pub closed: Option<Duration>,
    /// Why it does not go on. It is tried again.
    pub error: Option<String>,
    /// Since it began, and until it ended.
    pub age: Duration,
}

impl CellStore {
    /// Begins to move a tenant to the cell of this name. If that is under way already, it goes on.
    pub async fn move_tenant(self: &Arc<Self>, tenant: TenantId, to: &str) -> Result<MoveStatus> {
        self.refresh_once().await?;
        let target = self.usable_target(to)?;
        let home = self.home.open_store()?;
        let mut placement = home.placement(tenant).await?;
        if placement.is_none() {
            // One that was created by a node that had not learned of the first cell yet.
            home.adopt_tenants().await?;
            placement = home.placement(tenant).await?;
        }
        let Some(placement) = placement else {
            return Err(refused("this tenant is not in the directory: only tenants can be moved"));
        };
        let source = self.cell(placement.cell)?;
        match placement.state {
            PlacementState::Moving | PlacementState::Leaving => {
                let Some(before) = home.move_of(tenant).await? else {
                    return Err(StoreError::Corrupt("a tenant moves without a move".into()));
                };
                return match before.step {
                    MoveStep::GoingBack => {
                        Err(refused("the tenant is being taken back: try again when that is over"))
                    }
                    _ if before.target == target.number => Ok(self.status(before)),
                    _ => {
                        let other = self.cell(before.target)?;
                        Err(refused(format!(
                            "the tenant is being moved to the cell {}: wait for that, or take it back",
                            other.name
                        )))
                    }
                };
            }
            PlacementState::Active if placement.cell == target.number => {
                return Err(refused(format!("the tenant lives in the cell {to} already")));
            }
            PlacementState::Active => {}
            PlacementState::Creating | PlacementState::Deleted => {
                return Err(refused("the tenant is being created, or was deleted"));
            }
        }
        if let Some(trouble) = source.trouble() {
            return Err(refused(format!(
                "the cell {}, where the tenant lives, cannot be used: {trouble}",
                source.name
            )));
        }
        if !home.begin_move(tenant, source.number, target.number).await? {
            return Err(refused("the tenant was moved or deleted a moment ago: look again"));
        }
        self.move_failures.lock().remove(&tenant);
        tracing::info!(%tenant, from = source.name, to, "move of a tenant began");
        self.refresh_once().await?;
        self.resume_moves().await;
        self.status_of(tenant).await
    }

    fn usable_target(&self, name: &str) -> Result<Arc<Cell>> {
        let cells = self.cells();
        let Some(cell) = cells.iter().find(|cell| cell.name == name) else {
            let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
            return Err(refused(format!(
                "there is no cell {name}: there are {}",
                names.join(", ")
            )));
        };
        if let Some(trouble) = cell.trouble() {
            return Err(refused(format!("the cell {name} cannot be used: {trouble}")));
        }
        if cell.state() == CellState::Draining {
            return Err(refused(format!(
                "the cell {name} gets no tenants: allow it first (gancho cells drain {name} --undo)"
            )));
        }
        Ok(cell.clone())
    }

    /// Takes back a move before the tenant lives in the new cell.
    pub async fn take_tenant_back(self: &Arc<Self>, tenant: TenantId) -> Result<MoveStatus> {
        let home = self.home.open_store()?;
        if home.take_move_back(tenant).await? {
            tracing::info!(%tenant, "tenant move is being taken back");
            self.resume_moves().await;
            return self.status_of(tenant).await;
        }
        let Some(found) = home.move_of(tenant).await? else {
            return Err(refused("the tenant is not being moved"));
        };
        match found.step {
            MoveStep::GoingBack => Ok(self.status(found)),
            MoveStep::TakenBack => {
                Err(refused("the last move of the tenant was taken back already"))
            }
            MoveStep::Copying | MoveStep::Closing | MoveStep::Removing | MoveStep::Done => {
                let (from, to) = (self.name_of(found.source), self.name_of(found.target));
                Err(refused(format!(
                    "the tenant lives in the cell {to} already: to have it back, move it to the cell {from}"
                )))
            }
        }
    }

    /// The last move of the tenant.
    pub async fn move_status(&self, tenant: TenantId) -> Result<Option<MoveStatus>> {
        let found = self.home.open_store()?.move_of(tenant).await?;
        Ok(found.map(|found| self.status(found)))
    }

    async fn status_of(&self, tenant: TenantId) -> Result<MoveStatus> {
        let status = self.move_status(tenant).await?;
        status.ok_or_else(|| StoreError::Corrupt("a move is gone".into()))
    }

    fn status(&self, of: MoveRow) -> MoveStatus {
        let (from, to) = (self.name_of(of.source), self.name_of(of.target));
        let MoveRow { step, copied, removed, closed, error, age, .. } = of;
        MoveStatus {
            from,
            to,
            step,
            copied_rows: copied,
            removed_rows: removed,
            closed,
            error,
            age,
        }
    }

    fn name_of(&self, number: u32) -> String {
        self.cell(number).map_or_else(|_| format!("number {number}"), |cell| cell.name.clone())
    }

    /// Takes the moves that nobody carries out. Of those that copy, which may take hours, a few at once.
    pub(crate) async fn resume_moves(self: &Arc<Self>) {
        if self.is_alone() {
            return;
        }
        if let Err(error) = self.take_moves().await {
            tracing::debug!(%error, "could not look for moves of tenants");
        }
    }

    async fn take_moves(self: &Arc<Self>) -> Result<()> {
        let home = self.home.open_store()?;
        for (tenant, step) in self.home.call(home.abandoned_moves()).await? {
            let copies = step == MoveStep::Copying;
            {
                let mut under_way = self.moves_under_way.lock();
                let copying = under_way.values().filter(|copies| **copies).count();
                if copies && copying >= MAX_COPYING {
                    continue;
                }
                under_way.insert(tenant, copies);
            }
            let taken = home.take_move(tenant, self.setup.moves.lease).await;
            if !matches!(taken, Ok(Some(_))) {
                self.moves_under_way.lock().remove(&tenant);
            }
            let Some(of) = taken? else { continue };
            let (store, stop) = (self.clone(), self.stopping.clone());
            self.tasks.spawn(async move {
                stop.run_until_cancelled(Box::pin(store.clone().carry_out(of))).await;
                store.moves_under_way.lock().remove(&tenant);
            });
        }
        Ok(())
    }
}

pub(crate) fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of an endpoint (`outbound`), a dispatch (`inbound`) and an e-mail (`mail`).
    const MAX_ATTEMPT: Duration = Duration::from_secs(60);

    #[test]
    fn the_longest_attempt_ends_before_its_tenant_leaves() {
        assert!(MoveRules::default().drain > MAX_ATTEMPT + Duration::from_secs(10));
    }
}
