//! The authenticated caller.

use std::sync::Arc;

use gancho_domain::{Tenant, TenantId, TenantScope};

use crate::{AccessError, Needs, Rights};

/// An authenticated caller.
#[derive(Debug, Clone)]
pub enum Principal {
    Operator(Operator),
    Tenant(TenantPrincipal),
}

/// Proof that the caller is the operator. Only [`Access`](crate::Access) creates it.
#[derive(Debug, Clone)]
pub struct Operator(());

/// A caller that acts for a tenant. Only this crate creates it.
#[derive(Debug, Clone)]
pub struct TenantPrincipal {
    scope: TenantScope,
    tenant: Arc<Tenant>,
    rights: Rights,
    /// Set if the operator acts for the tenant.
    operator: Option<Operator>,
}

impl Principal {
    /// Returns the caller if it has the access that an operation needs.
    pub fn check(self, needs: Needs) -> Result<Self, AccessError> {
        match (&self, needs) {
            (Self::Operator(_), Needs::Operator | Needs::Anyone(_)) => Ok(self),
            (Self::Operator(_), Needs::Tenant(_)) => Err(AccessError::TenantRequired),
            // An operator who named a tenant may still do what needs the operator.
            (Self::Tenant(principal), Needs::Operator) => match &principal.operator {
                Some(operator) => Ok(Self::Operator(operator.clone())),
                None => Err(AccessError::OperatorOnly),
            },
            (Self::Tenant(principal), Needs::Tenant(right) | Needs::Anyone(right)) => {
                if principal.rights.has(right) {
                    return Ok(self);
                }
                Err(AccessError::MissingRight(right))
            }
        }
    }
}

impl Operator {
    pub(crate) const fn authenticated() -> Self {
        Self(())
    }

    /// The operator may act for every tenant.
    pub fn act_for(&self, tenant: Arc<Tenant>) -> TenantPrincipal {
        let operator = Some(self.clone());
        TenantPrincipal { scope: self.scope_of(tenant.id), tenant, rights: Rights::ALL, operator }
    }

    /// The operator may read the data of every tenant, receipts of sources included.
    #[allow(clippy::unused_self, reason = "the proof that the operator is asking")]
    #[expect(clippy::disallowed_methods, reason = "the operator has proved who they are")]
    pub fn scope_of(&self, tenant: TenantId) -> TenantScope {
        TenantScope::granted(tenant)
    }
}

impl TenantPrincipal {
    #[expect(
        clippy::disallowed_methods,
        reason = "the caller of this has checked a credential of the tenant's"
    )]
    pub(crate) fn authenticated(tenant: Arc<Tenant>, rights: Rights) -> Self {
        Self { scope: TenantScope::granted(tenant.id), tenant, rights, operator: None }
    }

    pub fn scope(&self) -> TenantScope {
        self.scope
    }

    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }
}
