//! Addresses to which a tenant's e-mails are not sent any more.

use async_trait::async_trait;
use gancho_domain::{TenantScope, Time};

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    pub address: String,
    /// A word of its writer's.
    pub reason: String,
    pub detail: Option<String>,
    pub since: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuppression {
    pub suppression: Suppression,
    /// Takes the place of one that is there already, which otherwise stays as it is.
    pub replaces: bool,
}

#[async_trait]
pub trait Suppressions: Send + Sync + 'static {
    /// Returns how many of the addresses are new. Of several entries of one address the later one finds the
    /// earlier one there.
    async fn suppress(&self, scope: TenantScope, new: Vec<NewSuppression>) -> Result<u64>;

    async fn suppression(&self, scope: TenantScope, address: &str) -> Result<Option<Suppression>>;

    /// By address (compared as bytes), from the one after `after` on.
    async fn suppressions(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Suppression>>;

    /// Returns whether it was there.
    async fn remove_suppression(&self, scope: TenantScope, address: &str) -> Result<bool>;
}
