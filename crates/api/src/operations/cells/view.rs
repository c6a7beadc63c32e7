//! Renders a cell, without its URL.

use serde::Serialize;
use utoipa::ToSchema;

use crate::cells::CellInfo;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cell)]
pub struct CellView {
    pub name: String,
    /// Whether it has the directory and all that belongs to no tenant.
    pub is_home: bool,
    /// Whether it gets no new tenants.
    pub is_draining: bool,
    /// Number of tenants that live there.
    pub tenants: u64,
    /// Whether the node that answered can use it.
    pub is_available: bool,
    /// Why not; null if it can.
    pub reason: Option<String>,
}

impl From<CellInfo> for CellView {
    fn from(cell: CellInfo) -> Self {
        Self {
            name: cell.name,
            is_home: cell.is_home,
            is_draining: cell.is_draining,
            tenants: cell.tenants,
            is_available: cell.trouble.is_none(),
            reason: cell.trouble,
        }
    }
}
