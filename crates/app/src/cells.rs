//! The cells of a gateway with several databases: what is encrypted of them, and the operations of the API on them.

use std::sync::Arc;

use async_trait::async_trait;
use gancho_api::cells::{CellInfo, CellService};
use gancho_store::Result;
use gancho_store_cells::{CellSecrets, CellStore, HOME_NAME};
use gancho_vault::{KeyRing, Place};

/// Encrypts the URLs and identities of cells with the key ring.
pub struct RingSecrets(pub Arc<KeyRing>);

fn place(of: &str) -> Place<'_> {
    Place { tenant: &[], table: "cells", column: "secret", row: of.as_bytes() }
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

/// For the API.
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
}
