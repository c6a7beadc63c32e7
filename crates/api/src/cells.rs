//! The cells of a gateway that uses several databases, behind a trait: this crate names no store.

use async_trait::async_trait;
use gancho_store::Result;

/// Manages the cells. A refused change is a [`gancho_store::StoreError::Refused`] with what to do.
#[async_trait]
pub trait CellService: Send + Sync {
    /// The home cell first.
    async fn cells(&self) -> Result<Vec<CellInfo>>;

    async fn add(&self, name: &str, url: &str) -> Result<()>;

    /// A cell that drains gets no new tenants. Whether there is such a cell.
    async fn set_draining(&self, name: &str, is_draining: bool) -> Result<bool>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellInfo {
    pub name: String,
    pub is_home: bool,
    pub is_draining: bool,
    pub tenants: u64,
    /// Why this node cannot use it.
    pub trouble: Option<String>,
}
