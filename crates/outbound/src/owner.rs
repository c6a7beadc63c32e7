//! The owner of configuration: a tenant or the operator.

use gancho_domain::{TenantId, TenantScope};
use gancho_store::Collection;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    Operator,
    Tenant(TenantScope),
}

impl Owner {
    pub(crate) fn collection(self, kind: &'static str) -> Collection {
        match self {
            Self::Operator => Collection::operators(kind),
            Self::Tenant(scope) => Collection::of(scope, kind),
        }
    }

    pub fn tenant(self) -> Option<TenantId> {
        self.scope().map(TenantScope::tenant)
    }

    pub fn scope(self) -> Option<TenantScope> {
        match self {
            Self::Operator => None,
            Self::Tenant(scope) => Some(scope),
        }
    }

    /// The tenant, or the gateway itself if there is none.
    pub(crate) fn of(tenant: Option<TenantId>) -> Self {
        tenant.map_or(Self::Operator, |id| Self::Tenant(TenantScope::internal(id)))
    }
}

impl From<TenantScope> for Owner {
    fn from(scope: TenantScope) -> Self {
        Self::Tenant(scope)
    }
}
