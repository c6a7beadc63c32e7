//! Who owns endpoints, events and e-mails.

use crate::{TenantId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    /// The human name in paths and logs, such as `m2`. Unique.
    pub slug: String,
    pub name: String,
    pub created_at: Time,
}

/// The right to see one tenant's things. Every tenant-facing store method takes one first, so that
/// forgetting the tenant does not compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TenantScope(TenantId);

impl TenantScope {
    /// To be called only where a caller has just proved who they are, or by the program for itself.
    pub const fn granted(tenant: TenantId) -> Self {
        Self(tenant)
    }

    pub const fn tenant(self) -> TenantId {
        self.0
    }
}
