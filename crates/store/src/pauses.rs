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
    /// Whose work it holds back, where it is one tenant's.
    pub fn tenant(self) -> Option<TenantId> {
        match self {
            Self::Lane(_) => None,
            Self::Tenant(tenant) | Self::Endpoint(tenant, _) => Some(tenant),
        }
    }
}

#[async_trait]
pub trait Pauses: Send + Sync + 'static {
    /// Doing it twice is doing it once.
    async fn pause(&self, what: Pause, now: Time) -> Result<()>;

    async fn resume(&self, what: Pause) -> Result<()>;

    /// Those of all tenants: for the engine, which reads them from time to time.
    async fn pauses(&self) -> Result<Vec<Pause>>;
}
