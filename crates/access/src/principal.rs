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
    /// Whether a person is asking: the operator, or someone with a portal link. Otherwise it is a program with
    /// an API key.
    is_person: bool,
    /// Set if the operator acts for the tenant.
    operator: Option<Operator>,
}

impl Principal {
    /// Returns the caller if it has the access that an operation needs.
    pub fn check(self, needs: Needs) -> Result<Self, AccessError> {
        match (&self, needs) {
            (Self::Operator(_), Needs::Operator | Needs::Anyone(_)) => Ok(self),
            (Self::Operator(_), Needs::Tenant(_) | Needs::Person(_)) => {
                Err(AccessError::TenantRequired)
            }
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
            (Self::Tenant(principal), Needs::Person(right)) => {
                if !principal.is_person {
                    return Err(AccessError::PersonRequired);
                }
                if !principal.rights.has(right) {
                    return Err(AccessError::MissingRight(right));
                }
                Ok(self)
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
        let scope = self.scope_of(tenant.id);
        let (rights, operator) = (Rights::ALL, Some(self.clone()));
        TenantPrincipal { scope, tenant, rights, is_person: true, operator }
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
        let scope = TenantScope::granted(tenant.id);
        Self { scope, tenant, rights, is_person: false, operator: None }
    }

    /// Someone with a portal link of the tenant.
    pub(crate) fn of_person(tenant: Arc<Tenant>, rights: Rights) -> Self {
        Self { is_person: true, ..Self::authenticated(tenant, rights) }
    }

    pub fn scope(&self) -> TenantScope {
        self.scope
    }

    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    pub fn rights(&self) -> Rights {
        self.rights
    }
}
