//! Addresses that get no more e-mails of a tenant.

use async_trait::async_trait;
use gancho_domain::{TenantScope, Time};

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    pub address: String,
    /// The reason, opaque to the store.
    pub reason: String,
    pub detail: Option<String>,
    pub since: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuppression {
    pub suppression: Suppression,
    /// Whether it replaces an existing entry. Otherwise the existing one stays.
    pub replaces: bool,
}

/// Maximum addresses that a call suppresses, so that no other writer waits long.
pub const MAX_SUPPRESSED: usize = 250;

#[async_trait]
pub trait Suppressions: Send + Sync + 'static {
    /// Suppresses addresses. Returns how many are new. If there are several entries of one address, the later
    /// one finds the earlier one. Callers pass at most [`MAX_SUPPRESSED`].
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64>;

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>>;

    /// Returns a page of suppressions by address (compared as bytes), after `after`.
    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>>;

    /// Removes a suppression. Returns whether it existed.
    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool>;
}
