//! Who asks for a page: the operator, or someone of a tenant who opened the portal.

use gancho_access::{Operator, PortalSession};

use crate::sessions::Session;

#[derive(Clone)]
pub enum Visitor {
    /// A session of the dashboard.
    Operator(Session),
    /// A session of the portal. It acts for its tenant, and has no way to an [`Operator`].
    Tenant(PortalSession),
}

impl Visitor {
    /// The token that each form carries.
    pub fn csrf(&self) -> &str {
        match self {
            Self::Operator(session) => &session.csrf,
            Self::Tenant(session) => session.csrf(),
        }
    }

    pub fn has_csrf(&self, token: &str) -> bool {
        match self {
            Self::Operator(session) => session.has_csrf(token),
            Self::Tenant(session) => session.has_csrf(token),
        }
    }

    pub fn may_change(&self) -> bool {
        match self {
            Self::Operator(session) => session.role.may_change(),
            Self::Tenant(session) => session.may_manage(),
        }
    }

    /// A tenant's people see the secrets of their own endpoints.
    pub fn may_reveal_secrets(&self) -> bool {
        match self {
            Self::Operator(session) => session.role.may_reveal_secrets(),
            Self::Tenant(session) => session.may_manage(),
        }
    }

    pub fn operator(&self) -> Option<&Operator> {
        match self {
            Self::Operator(session) => Some(&session.operator),
            Self::Tenant(_) => None,
        }
    }
}
