//! The authenticated caller.

use std::sync::Arc;

use gancho_domain::{Tenant, TenantId, TenantScope};

use gancho_store::{Actor, ActorKind};

use crate::{AccessError, Needs, Rights, Role, User};

/// An authenticated caller.
#[derive(Debug, Clone)]
pub enum Principal {
    Operator(Operator),
    Tenant(TenantPrincipal),
}

/// Proof that the caller is the operator, or a user with a role. Only this crate creates it.
#[derive(Debug, Clone)]
pub struct Operator {
    actor: Arc<Actor>,
    role: Role,
}

/// A caller that acts for a tenant. Only this crate creates it.
#[derive(Debug, Clone)]
pub struct TenantPrincipal {
    scope: TenantScope,
    tenant: Arc<Tenant>,
    rights: Rights,
    /// Whether the caller is a person: the operator, or the owner of a portal link. Otherwise it is a program
    /// with an API key.
    is_person: bool,
    actor: Arc<Actor>,
    /// Set if the operator acts for the tenant.
    operator: Option<Operator>,
}

impl Principal {
    /// Returns the caller if it has the access that an operation needs. `role` is the lowest role of users
    /// that may run it; it does not apply to credentials of tenants.
    pub fn check(self, needs: Needs, role: Role) -> Result<Self, AccessError> {
        if self.role().is_some_and(|own| own < role) {
            return Err(AccessError::MissingRole(role));
        }
        match (&self, needs) {
            (Self::Operator(_), Needs::Operator | Needs::Anyone(_)) => Ok(self),
            (Self::Operator(_), Needs::Tenant(_) | Needs::Person(_)) => {
                Err(AccessError::TenantRequired)
            }
            // An operator who acts for a tenant may still use what needs the operator.
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

impl Principal {
    /// Returns the actor for the audit log.
    pub fn actor(&self) -> &Arc<Actor> {
        match self {
            Self::Operator(operator) => &operator.actor,
            Self::Tenant(principal) => &principal.actor,
        }
    }

    /// Returns the tenant that the caller acts for.
    pub fn tenant(&self) -> Option<TenantId> {
        match self {
            Self::Operator(_) => None,
            Self::Tenant(principal) => Some(principal.scope.tenant()),
        }
    }

    /// Returns the tenant whose own limits apply; `None` for the operator, who may act for a tenant.
    pub fn limited_tenant(&self) -> Option<TenantId> {
        match self {
            Self::Tenant(principal) if !principal.is_operator() => Some(principal.scope.tenant()),
            Self::Tenant(_) | Self::Operator(_) => None,
        }
    }

    /// Returns the role of the operator or of a user; `None` for credentials of tenants.
    fn role(&self) -> Option<Role> {
        match self {
            Self::Operator(operator) => Some(operator.role),
            Self::Tenant(principal) => principal.operator.as_ref().map(|operator| operator.role),
        }
    }
}

impl Operator {
    /// Creates the owner of the operator token.
    pub(crate) fn authenticated() -> Self {
        Self { actor: Arc::new(Actor::new(ActorKind::Operator, "")), role: Role::Operator }
    }

    /// Creates a user whose password was checked.
    pub(crate) fn of_user(user: &User) -> Self {
        Self { actor: Arc::new(Actor::new(ActorKind::User, &*user.name)), role: user.role }
    }

    pub fn role(&self) -> Role {
        self.role
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Returns the name of the user; `None` for the owner of the operator token.
    pub fn user(&self) -> Option<&str> {
        (self.actor.kind == ActorKind::User).then_some(&*self.actor.name)
    }

    /// Returns a principal for a tenant. The operator may act for every tenant.
    pub fn act_for(&self, tenant: Arc<Tenant>) -> TenantPrincipal {
        TenantPrincipal {
            scope: self.scope_of(tenant.id),
            tenant,
            rights: Rights::ALL,
            is_person: true,
            actor: self.actor.clone(),
            operator: Some(self.clone()),
        }
    }

    /// Returns the scope of a tenant. The operator may read the data of every tenant, including receipts of
    /// sources.
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
    pub(crate) fn authenticated(tenant: Arc<Tenant>, rights: Rights, actor: Arc<Actor>) -> Self {
        let (scope, is_person) = (TenantScope::granted(tenant.id), actor.kind == ActorKind::Portal);
        Self { scope, tenant, rights, is_person, actor, operator: None }
    }

    /// Creates the owner of a portal link of the tenant.
    pub(crate) fn of_person(tenant: Arc<Tenant>, rights: Rights) -> Self {
        Self::authenticated(tenant, rights, Arc::new(Actor::new(ActorKind::Portal, "")))
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

    /// Whether the operator or a user acts for the tenant, not the tenant itself.
    pub fn is_operator(&self) -> bool {
        self.operator.is_some()
    }
}
