//! Renders a cell, without its URL.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    cells::{CellInfo, CellTenant},
    render::words,
};

/// A cell: one of the databases of a gateway that has several.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cell)]
pub struct CellView {
    /// Name of the cell.
    pub name: String,
    /// Whether this is the home cell, which has the list of tenants and all data that belongs to no tenant.
    pub is_home: bool,
    /// Whether the cell is being drained: it gets no new tenants.
    pub is_draining: bool,
    /// Number of tenants that live in the cell.
    pub tenants: u64,
    /// Whether the node that answered can use the cell.
    pub is_available: bool,
    /// Why that node cannot use the cell; null if it can.
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

/// A tenant, as the directory of cells knows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CellTenant)]
pub struct CellTenantView {
    /// Id of the tenant.
    pub id: String,
    /// Slug of the tenant.
    pub slug: String,
    /// `active`: it lives in the cell. `moving`: it is being moved to another cell, or was and is still being removed from the
    /// old one. `creating`: it is being created.
    #[schema(value_type = words::CellTenantState)]
    pub state: &'static str,
}

impl From<CellTenant> for CellTenantView {
    fn from(tenant: CellTenant) -> Self {
        Self { id: tenant.id.to_string(), slug: tenant.slug, state: tenant.state.name() }
    }
}
