//! Pauses: deliveries in flight finish, the rest waits.

use async_trait::async_trait;
use gancho_domain::{EndpointId, Lane, TenantId, Time};

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pause {
    Lane(Lane),
    Tenant(TenantId),
    Endpoint(TenantId, EndpointId),
}

impl Pause {
    /// Returns the tenant whose work it holds back, if it is one tenant's.
    pub fn tenant(self) -> Option<TenantId> {
        match self {
            Self::Lane(_) => None,
            Self::Tenant(tenant) | Self::Endpoint(tenant, _) => Some(tenant),
        }
    }
}

#[async_trait]
pub trait Pauses: Send + Sync + 'static {
    /// Pauses something. Idempotent.
    async fn pause(&self, what: Pause, now: Time) -> Result<()>;

    async fn resume(&self, what: Pause) -> Result<()>;

    /// Returns the pauses of all tenants: for the engine, which reads them from time to time.
    async fn pauses(&self) -> Result<Vec<Pause>>;
}
