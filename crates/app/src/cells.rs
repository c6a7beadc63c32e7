//! The cells of a gateway with several databases: encrypts what is secret about them, and runs the API's
//! operations on them.

use std::sync::Arc;

use async_trait::async_trait;
use gancho_api::cells::{CellInfo, CellService, CellTenant, CellTenantState, MoveInfo, MoveState};
use gancho_domain::TenantId;
use gancho_store::Result;
use gancho_store_cells::{
    CellSecrets, CellStore, HOME_NAME, MoveStatus, MoveStep, Placement, PlacementState,
};
use gancho_vault::{KeyRing, SecretLocation};

/// Encrypts the URLs and identities of cells with the key ring.
pub struct RingSecrets(pub Arc<KeyRing>);

fn place(of: &str) -> SecretLocation<'_> {
    SecretLocation { tenant: &[], table: "cells", column: "secret", row: of.as_bytes() }
}

impl CellSecrets for RingSecrets {
    fn seal(&self, of: &str, text: &str) -> Result<Vec<u8>, String> {
        self.0.seal(place(of), text).map_err(|error| error.to_string())
    }

    fn open(&self, of: &str, sealed: &[u8]) -> Result<String, String> {
        let text = self.0.open(place(of), sealed).map_err(|error| error.to_string())?;
        Ok(text.to_string())
    }

    fn is_current(&self, sealed: &[u8]) -> bool {
        KeyRing::key_of(sealed) == Some(self.0.newest())
    }
}

/// The cells for the API.
pub struct Cells(pub Arc<CellStore>);

#[async_trait]
impl CellService for Cells {
    async fn cells(&self) -> Result<Vec<CellInfo>> {
        let cells = self.0.list_cells().await?.into_iter().map(|cell| CellInfo {
            is_home: cell.name == HOME_NAME,
            name: cell.name,
            is_draining: cell.is_draining,
            tenants: cell.tenants,
            trouble: cell.trouble,
        });
        Ok(cells.collect())
    }

    async fn add(&self, name: &str, url: &str) -> Result<()> {
        self.0.add_cell(name, url).await
    }

    async fn set_draining(&self, name: &str, is_draining: bool) -> Result<bool> {
        self.0.drain_cell(name, is_draining).await
    }

    async fn tenants(
        &self,
        cell: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Option<Vec<CellTenant>>> {
        let found = self.0.tenants_of_cell(cell, after, max).await?;
        Ok(found.map(|found| found.into_iter().map(resident).collect()))
    }

    async fn remove(&self, name: &str, is_lost: bool) -> Result<bool> {
        self.0.remove_cell(name, is_lost).await
    }

    async fn move_tenant(&self, tenant: TenantId, to: &str) -> Result<MoveInfo> {
        self.0.move_tenant(tenant, to).await.map(info)
    }

    async fn take_tenant_back(&self, tenant: TenantId) -> Result<MoveInfo> {
        self.0.take_tenant_back(tenant).await.map(info)
    }

    async fn tenant_move(&self, tenant: TenantId) -> Result<Option<MoveInfo>> {
        Ok(self.0.move_status(tenant).await?.map(info))
    }
}

fn resident(of: Placement) -> CellTenant {
    let state = match of.state {
        PlacementState::Creating => CellTenantState::Creating,
        // Deleted ones are not listed.
        PlacementState::Active | PlacementState::Deleted => CellTenantState::Active,
        PlacementState::Moving | PlacementState::Leaving => CellTenantState::Moving,
    };
    CellTenant { id: of.tenant, slug: of.slug, state }
}

fn info(of: MoveStatus) -> MoveInfo {
    let MoveStatus { from, to, step, copied_rows, removed_rows, closed, error, age } = of;
    let state = match step {
        MoveStep::Copying => MoveState::Copying,
        MoveStep::Closing => MoveState::Closing,
        MoveStep::Removing => MoveState::Removing,
        MoveStep::Done => MoveState::Done,
        MoveStep::GoingBack => MoveState::TakingBack,
        MoveStep::TakenBack => MoveState::TakenBack,
    };
    MoveInfo { from, to, state, copied_rows, removed_rows, closed, age, error }
}
