//! The cells of a gateway that uses several databases, behind a trait: this crate names no store.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::TenantId;
use gancho_store::Result;

/// Manages the cells. A refused change is a [`gancho_store::StoreError::Refused`] that says what to do.
#[async_trait]
pub trait CellService: Send + Sync {
    /// Returns the cells, the home cell first.
    async fn cells(&self) -> Result<Vec<CellInfo>>;

    async fn add(&self, name: &str, url: &str) -> Result<()>;

    /// Sets whether a cell drains, so that it gets no new tenants. Returns whether the cell exists.
    async fn set_draining(&self, name: &str, is_draining: bool) -> Result<bool>;

    /// Returns at most `max` tenants of a cell, by slug, after `after`. `None` if there is no such cell.
    async fn tenants(
        &self,
        cell: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Option<Vec<CellTenant>>>;

    /// Removes a cell without tenants, with `is_lost` also one that does not respond. Returns whether the cell exists.
    async fn remove(&self, name: &str, is_lost: bool) -> Result<bool>;

    /// Begins to move a tenant to another cell.
    async fn move_tenant(&self, tenant: TenantId, to: &str) -> Result<MoveInfo>;

    /// Takes back a move before the tenant lives in the new cell.
    async fn take_tenant_back(&self, tenant: TenantId) -> Result<MoveInfo>;

    /// Returns the last move of a tenant.
    async fn tenant_move(&self, tenant: TenantId) -> Result<Option<MoveInfo>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveInfo {
    /// The names of the cells.
    pub from: String,
    pub to: String,
    pub state: MoveState,
    pub copied_rows: u64,
    pub removed_rows: u64,
    /// How long the tenant could not be written.
    pub closed: Option<Duration>,
    /// The time since it began, until it ended.
    pub age: Duration,
    /// Why it does not continue.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveState {
    Copying,
    Closing,
    Removing,
    Done,
    TakingBack,
    TakenBack,
}

impl MoveState {
    pub const ALL: [Self; 6] = [
        Self::Copying,
        Self::Closing,
        Self::Removing,
        Self::Done,
        Self::TakingBack,
        Self::TakenBack,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Copying => "copying",
            Self::Closing => "closing",
            Self::Removing => "removing",
            Self::Done => "done",
            Self::TakingBack => "taking_back",
            Self::TakenBack => "taken_back",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellTenant {
    pub id: TenantId,
    pub slug: String,
    pub state: CellTenantState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellTenantState {
    Creating,
    Active,
    Moving,
}

impl CellTenantState {
    pub const ALL: [Self; 3] = [Self::Creating, Self::Active, Self::Moving];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Active => "active",
            Self::Moving => "moving",
        }
    }
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
